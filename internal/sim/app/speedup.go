package app

import "fmt"

// Speedup is the speed of an application with n processors relative to its
// speed with one: At(1) is 1, At of less than one processor is 0. The models
// below never fall as n grows; a Table may, as measurements do.
type Speedup interface {
	SpeedupAt(n int) float64
}

// WorkRate is the work, in seconds on one processor of a speed-1 host, that is
// finished in a second with size processors of the given speed.
func WorkRate(s Speedup, size int, speed float64) float64 {
	return s.SpeedupAt(size) * speed
}

// Linear is perfect scaling: twice the processors, twice the speed.
type Linear struct{}

func (Linear) SpeedupAt(n int) float64 { return float64(max(n, 0)) }

func (Linear) String() string { return "linear" }

// Amdahl scales by Amdahl's law: the part Serial of the work does not run in
// parallel, the rest runs perfectly so. S(n) = 1 / (s + (1-s)/n).
type Amdahl struct {
	Serial float64 // between 0 and 1
}

func (a Amdahl) SpeedupAt(n int) float64 {
	if n < 1 {
		return 0
	}
	return 1 / (a.Serial + (1-a.Serial)/float64(n))
}

func (a Amdahl) String() string { return fmt.Sprintf("amdahl:%g", a.Serial) }

// Downey scales by the model of A. B. Downey, "A model for speedup of
// parallel programs", report UCB/CSD-97-933, University of California,
// Berkeley, 1997: A is the average parallelism of the program, Sigma the
// coefficient of variation of its parallelism (0: always exactly A; 1: the
// uniform profile; above 1: long sequential stretches). The speed-up never
// exceeds A.
type Downey struct {
	A     float64 // at least 1
	Sigma float64 // at least 0
}

func (d Downey) SpeedupAt(n int) float64 {
	switch {
	case n < 1:
		return 0
	case n == 1:
		return 1 // exactly, whatever the formulas round to
	case d.Sigma <= 1:
		return d.lowVariance(float64(n))
	}
	return d.highVariance(float64(n))
}

// lowVariance is the report's model for Sigma ≤ 1: the program has parallelism
// A most of the time, and between 1 and 2A-1 for the rest.
func (d Downey) lowVariance(n float64) float64 {
	a, s := d.A, d.Sigma
	switch {
	case n <= a:
		return a * n / (a + s/2*(n-1))
	case n <= 2*a-1:
		return a * n / (s*(a-0.5) + n*(1-s/2))
	}
	return a
}

// highVariance is the report's model for Sigma ≥ 1: the program is sequential
// for a part of its time, and has parallelism A+A·Sigma-Sigma for the rest.
// At Sigma = 1 the two models agree.
func (d Downey) highVariance(n float64) float64 {
	a, s := d.A, d.Sigma
	if n >= a+a*s-s {
		return a
	}
	return n * a * (s + 1) / (s*(n+a-1) + a)
}

func (d Downey) String() string { return fmt.Sprintf("downey:A=%g,sigma=%g", d.A, d.Sigma) }
