package broker

import "context"

// ListJobs lists what VisitJobs visits.
func (b *Broker) ListJobs(ctx context.Context, all bool) (list []View, err error) {
	err = b.VisitJobs(ctx, all, func(v *View) error {
		list = append(list, *v)
		return nil
	})
	return list, err
}

// SelectJobs lists what VisitSelected visits.
func (b *Broker) SelectJobs(ctx context.Context, refs []string, newest bool) (list []View, err error) {
	err = b.VisitSelected(ctx, refs, newest, func(v *View) error {
		list = append(list, *v)
		return nil
	})
	return list, err
}
