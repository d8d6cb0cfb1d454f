// Package nodes is the experiment of papers/002: parallel programs on four of ten
// hosts whose connections others use too, with hosts chosen by chance, by bandwidth
// alone, by who talks to whom, and by that and a trial run; and what choosing costs
// as networks grow. The lab gives hosts and network, the rest is what users have:
// probes, selection, capture, skeletons. It must not know how any of these work.
package nodes
