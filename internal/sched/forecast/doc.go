// Package forecast says what a series of measurements (bandwidth, latency, the
// share of a CPU) will be next, and how far off that may be.
//
// A family of cheap forecasters runs side by side on the same values, as in the
// Network Weather Service (Wolski, 1998): last value, means and medians of
// windows, smoothing, autoregression and others. Each value judges what all of
// them said before it came. The answer is their mean, weighted by how little
// each erred so far, which in the end is the best of them and before that is
// better than a hasty choice. What the answer itself erred by is its
// uncertainty.
//
// The family is judged at several horizons: by the next value, and by the mean
// of the next 4, 16 and 64. The package knows neither what is measured nor who
// asks, nor the time.
package forecast
