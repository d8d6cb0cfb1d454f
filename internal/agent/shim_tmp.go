package agent

import "github.com/godwit-hpc/godwit/internal/predict"

type forecastShim struct{ *predict.Watch }
type changeShim struct{ From, To float64 }

func (forecastShim) Changed() (changeShim, bool) { return changeShim{}, false }
func (forecastShim) Share() (float64, float64)   { return 0, 0 }
func (forecastShim) Model() string               { return "cpu" }
func (forecastShim) Work() (predict.Dist, bool)  { return predict.Dist{}, false }
