package plot

// anchor is the part of a text that lies at its point.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

// lettering is a size and weight of text.
type lettering struct {
	size float64
	bold bool
	ink  string
}

var (
	titleText  = lettering{size: 11, bold: true, ink: ink}
	labelText  = lettering{size: 10, ink: ink}
	legendText = lettering{size: 9, ink: ink}
	tickText   = lettering{size: 9, ink: softInk}
)

// advances are the widths of the characters from space to ~ in Arial and the
// fonts made to its measure, in thousandths of the size.
var advances = [...]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
}

const (
	otherAdvance = 600  // other letters and signs, on average
	boldFactor   = 1.07 // bold letters are wider
	// spare is room for the reader's font, should it be a wider one.
	spare = 1.12
)

// textWidth is how much room s takes.
func (l lettering) textWidth(s string) float64 {
	sum := 0.0
	for _, r := range s {
		sum += l.runeAdvance(r)
	}
	return sum
}

func (l lettering) runeAdvance(r rune) float64 {
	thousandths := otherAdvance
	if r >= ' ' && int(r-' ') < len(advances) {
		thousandths = advances[r-' ']
	}
	w := float64(thousandths) / 1000 * l.size * spare
	if l.bold {
		w *= boldFactor
	}
	return w
}

// baselineDrop is how far the baseline lies below the middle of the capitals.
func (l lettering) baselineDrop() float64 { return 0.36 * l.size }

// fitText shortens s until it is at most room wide.
func (l lettering) fitText(s string, room float64) string {
	if l.textWidth(s) <= room {
		return s
	}
	used := l.runeAdvance('…')
	for i, r := range s {
		if used += l.runeAdvance(r); used > room {
			return s[:i] + "…"
		}
	}
	return s
}
