package workload

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/sim/app"
)

// program is what the jobs of a trace are told apart by when it comes to how
// they scale: the executable if the trace knows it, else the user, else
// nothing; and the size class. The class belongs to it because a user who runs
// a code on 512 processors runs a larger problem than on 4: only jobs of one
// class share a curve.
type program struct {
	by     byte // 'a' executable, 'u' user, 's' size alone
	class  uint8
	number int32
}

func programOf(r *swf.Record) program {
	p := program{by: 's', class: sizeClass(r.NeededProcs())}
	switch {
	case r.App > 0:
		p.by, p.number = 'a', r.App
	case r.User > 0:
		p.by, p.number = 'u', r.User
	}
	return p
}

// sizeClass is the exponent of the power of two nearest to n in ratio.
func sizeClass(n int) uint8 {
	class := bits.Len(uint(n)) - 1
	if float64(n) > math.Sqrt2*float64(int(1)<<class) {
		class++
	}
	return uint8(class)
}

func (p program) programName() string {
	size := strconv.Itoa(1 << p.class)
	switch p.by {
	case 'a':
		return "app-" + strconv.Itoa(int(p.number)) + "@" + size
	case 'u':
		return "user-" + strconv.Itoa(int(p.number)) + "@" + size
	}
	return "size-" + size
}

// drawSpeedup draws how the program scales by Downey's model: its average
// parallelism is half to twice the size that its users choose, because users
// choose sizes about as large as pays, and its variation 0 to 2, from steady
// parallelism to long sequential stretches. All classes of one executable or
// user share the draw.
func (p program) drawSpeedup(seed uint64) app.Speedup {
	key := uint64(p.by)<<32 | uint64(p.number)
	if p.by == 's' {
		key |= uint64(p.class)
	}
	factor := math.Exp2(2*HashFraction(seed, parallelismStream, key) - 1)
	return app.Downey{
		A:     max(1, factor*float64(int(1)<<p.class)),
		Sigma: 2 * HashFraction(seed, variationStream, key),
	}
}

// programs keeps one App for each program of a trace.
type programs struct {
	index map[program]int32
	apps  []*app.App
}

func (ps *programs) programIndex(r *swf.Record, o *TraceOptions) int32 {
	p := programOf(r)
	i, ok := ps.index[p]
	if !ok {
		i = int32(len(ps.apps))
		ps.index[p] = i
		a := &app.App{Name: p.programName(), Speedup: o.Speedup}
		if a.Speedup == nil {
			a.Speedup = p.drawSpeedup(o.Seed)
		}
		ps.apps = append(ps.apps, a)
	}
	return i
}

// users keeps one name for each user of a trace.
type users struct {
	index map[int32]int32
	names []string
}

func (us *users) userIndex(r *swf.Record) int32 {
	i, ok := us.index[r.User]
	if !ok {
		i = int32(len(us.names))
		us.index[r.User] = i
		name := ""
		if r.User >= 0 {
			name = "user-" + strconv.Itoa(int(r.User))
		}
		us.names = append(us.names, name)
	}
	return i
}
