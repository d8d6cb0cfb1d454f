package output

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
)

// SearchedTail is how much of the end of each stream is searched for progress. What
// a program says is looked at when it is sampled, not line by line, so that a
// program that writes a lot costs no more than one that writes little.
const SearchedTail = 16 << 10

// recent is the end of a stream of bytes.
type recent struct {
	keep int // bytes to keep; 0: none
	text []byte
}

func (r *recent) addText(data []byte) {
	if r.keep == 0 {
		return
	}
	if len(data) >= r.keep {
		r.text = append(r.text[:0], data[len(data)-r.keep:]...)
		return
	}
	r.text = append(r.text, data...)
	if len(r.text) > 2*r.keep {
		r.text = append(r.text[:0], r.text[len(r.text)-r.keep:]...)
	}
}

func (r *recent) appendTo(buf []byte) []byte {
	return append(buf, r.text[max(0, len(r.text)-r.keep):]...)
}

// Progress is how far a program is: by what it reports, or else by what is found in what it writes.
type Progress struct {
	pattern  *regexp.Regexp // nil: what it writes does not tell
	reported bool           // the program reports it
	seen     [2]int64       // ends of the streams when they were searched
	buf      []byte
	done     float64
	of       float64 // 0 as long as nothing is known
}

// NewProgress is for a program whose output tells by a pattern, which has two groups, done
// and total, or one, per cent; "": its output does not tell.
func NewProgress(pattern string) (*Progress, error) {
	if pattern == "" {
		return new(Progress), nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &Progress{pattern: re}, nil
}

// TakeReport takes how many of how many steps the program reports; 0, 0: it does not. Once it does,
// its output is not searched any more: the two may count different things.
func (p *Progress) TakeReport(done, of float64) {
	if of > 0 {
		p.reported, p.done, p.of = true, min(done, of), of
	}
}

// SearchOutput searches what was written since the last look.
func (p *Progress) SearchOutput(s *Spool) {
	if p.reported || p.pattern == nil {
		return
	}
	for number := 1; number <= 2; number++ {
		if _, end := s.KeptSpan(number); end == p.seen[number-1] {
			continue
		}
		p.buf, p.seen[number-1] = s.recentText(number, p.buf)
		if done, of, ok := lastProgress(p.pattern, p.buf); ok {
			p.done, p.of = done, of
		}
	}
}

// StepsDone is how many of how many; 0, 0 if that is not known.
func (p *Progress) StepsDone() (done, of float64) { return p.done, p.of }

// lastProgress is what the last whole line that matches says. A line ends with
// a newline or a carriage return, as progress bars write.
func lastProgress(re *regexp.Regexp, text []byte) (done, of float64, ok bool) {
	end := bytes.LastIndexAny(text, "\r\n")
	for end >= 0 {
		start := bytes.LastIndexAny(text[:end], "\r\n") // -1: the first line
		if m := re.FindSubmatch(text[start+1 : end]); m != nil {
			if done, of, ok := readProgress(m[1:]); ok {
				return done, of, true
			}
		}
		end = start
	}
	return 0, 0, false
}

func readProgress(groups [][]byte) (done, of float64, ok bool) {
	of = 100
	switch len(groups) {
	case 1:
	case 2:
		if of, ok = readNumber(groups[1]); !ok || of <= 0 {
			return 0, 0, false
		}
	default:
		return 0, 0, false
	}
	done, ok = readNumber(groups[0])
	if !ok || done < 0 {
		return 0, 0, false
	}
	return min(done, of), of, true
}

func readNumber(text []byte) (float64, bool) {
	x, err := strconv.ParseFloat(string(text), 64)
	return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
}
