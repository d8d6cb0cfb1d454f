package plot

import (
	"encoding/binary"
	"math"
	"testing"
)

// FuzzChart draws charts of arbitrary values and texts: every one of them is
// a well-formed file, whatever is in it.
func FuzzChart(f *testing.F) {
	values := func(list ...float64) []byte {
		var b []byte
		for _, v := range list {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	nan, inf := math.NaN(), math.Inf(1)
	f.Add(values(1, 2, 3, 4, 5, 6), "title", uint16(0))
	f.Add(values(nan, inf, -inf, 0, 5e-324, 1.7e308), "<&>", uint16(0x7f))
	f.Add(values(1e15, 1e15, 1e15+1, 1), "\x00\n", uint16(0x155))
	f.Add(values(1e-150, 1e150, 1e150, 1e-150, -1e150, 1e149), "", uint16(0xffff))
	f.Fuzz(func(t *testing.T, raw []byte, text string, flags uint16) {
		if len(raw) > 8*400 || len(text) > 2000 {
			return
		}
		var v []float64
		for ; len(raw) >= 8; raw = raw[8:] {
			v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
		half := len(v) / 2
		c := Chart{
			Title: text, XLabel: text, Categories: []string{text},
			LogX: flags&1 != 0, LogY: flags&2 != 0,
			XUnit: Unit(flags >> 2 & 3), YUnit: Unit(flags >> 4 & 3),
			Series: []Series{
				{Name: text, Kind: Kind(flags >> 6 & 7), X: v[:half], Y: v[half:]},
				NewCDF(text, v),
				{Kind: Kind(flags >> 9 & 7), X: v[half:], Y: v[:half], Style: int(flags)},
			},
			Width: float64(flags & 511), Height: float64(flags >> 7),
		}
		if len(v) >= 4 && flags&0x1000 != 0 {
			c.XRange, c.YRange = Range{v[0], v[1]}, Range{v[2], v[3]}
			c.Lines, c.Bands = []RefLine{{text, v[0]}}, []Band{{text, v[1], v[2]}}
		}
		checkSVG(t, render(t, c.asFigure()))
		checkSVG(t, render(t, NewGrid(2, 2, c, c, Chart{Series: c.Series[:1]})))
	})
}
