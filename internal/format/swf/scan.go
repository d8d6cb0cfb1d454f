package swf

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// fault is what is wrong with a line, before it is known which line it is.
type fault struct {
	field string
	value string
	want  string
}

// scanNumbers reads the 18 numbers of a line. It touches each byte once; only what
// is not a plain integer takes the slower way through scanDecimal.
func scanNumbers(line []byte, v *[numFields]int64) *fault {
	pos := 0
	for i := range numFields {
		for pos < len(line) && isBlank(line[pos]) {
			pos++
		}
		if pos == len(line) {
			return &fault{field: fields[i].name,
				want: fmt.Sprintf("missing: a record has %d fields, this one has %d", numFields, i)}
		}
		start := pos
		n, end, plain := scanInt(line, pos)
		if !plain {
			end = tokenEnd(line, pos)
		}
		pos = end
		if plain && n >= 0 && n <= fields[i].max {
			if fields[i].kind == duration {
				n *= int64(time.Second)
			}
			v[i] = n
			continue
		}
		var f *fault
		if v[i], f = scanDecimal(&fields[i], line[start:end]); f != nil {
			return f
		}
	}
	for pos < len(line) && isBlank(line[pos]) {
		pos++
	}
	if pos < len(line) {
		rest := line[pos:tokenEnd(line, pos)]
		return &fault{field: "field 19", value: string(rest), want: fmt.Sprintf("nothing: a record has %d fields", numFields)}
	}
	return nil
}

// maxPlain digits always fit an int64.
const maxPlain = 18

// scanInt reads a number of digits alone from pos on. It is plain if it has
// ended at a blank or at the end of the line and cannot have overflowed.
func scanInt(line []byte, pos int) (n int64, end int, plain bool) {
	start := pos
	for pos < len(line) {
		d := line[pos] - '0'
		if d > 9 {
			break
		}
		n = n*10 + int64(d)
		pos++
	}
	length := pos - start
	plain = length > 0 && length <= maxPlain && (pos == len(line) || isBlank(line[pos]))
	return n, pos, plain
}

// scanDecimal reads what scanInt does not: a sign, a fraction, an exponent,
// or something that is no number at all.
func scanDecimal(f *field, tok []byte) (int64, *fault) {
	if len(tok) == 2 && tok[0] == '-' && tok[1] == '1' && !f.must {
		return Unknown, nil // by far the most frequent
	}
	wrong := func(want string) (int64, *fault) {
		return 0, &fault{field: f.name, value: string(tok), want: want}
	}
	sign, digits, fraction, isNumber := splitNumber(tok)
	if !isNumber {
		return wrong(f.wantedValue())
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > f.max {
		return wrong(fmt.Sprintf("a number of at most %d", f.max))
	}
	ns := fractionNanos(fraction)
	if sign == '-' && (n != 0 || ns != 0) {
		if n == 1 && ns == 0 && !f.must {
			return Unknown, nil
		}
		return wrong(f.wantedValue())
	}
	switch f.kind {
	case duration:
		return n*int64(time.Second) + ns, nil
	case amount:
		if ns >= int64(time.Second)/2 && n < f.max {
			n++
		}
		return n, nil
	}
	if ns != 0 {
		return wrong(f.wantedValue())
	}
	return n, nil
}

// splitNumber takes a number apart. A number with an exponent is written out first;
// traces that passed through a spreadsheet or awk have such.
func splitNumber(tok []byte) (sign byte, digits, fraction string, ok bool) {
	if len(tok) > 0 && (tok[0] == '-' || tok[0] == '+') {
		sign, tok = tok[0], tok[1:]
	}
	dots, exponents, point := 0, 0, len(tok)
	for i, c := range tok {
		switch {
		case c >= '0' && c <= '9':
		case c == '.':
			dots++
			point = i
		case c == 'e' || c == 'E':
			exponents++
		case (c == '+' || c == '-') && i > 0 && (tok[i-1] == 'e' || tok[i-1] == 'E'):
		default:
			return 0, "", "", false
		}
	}
	if dots > 1 || len(tok) == dots {
		return 0, "", "", false
	}
	if exponents > 0 {
		x, err := strconv.ParseFloat(string(tok), 64)
		if err != nil && !math.IsInf(x, 0) {
			return 0, "", "", false
		}
		if x >= math.MaxInt64 {
			return sign, "9223372036854775808", "", true // too large, and found so by the caller
		}
		_, digits, fraction, ok = splitNumber(strconv.AppendFloat(nil, x, 'f', -1, 64))
		return sign, digits, fraction, ok
	}
	digits = string(tok[:point])
	if digits == "" {
		digits = "0"
	}
	if point < len(tok) {
		fraction = string(tok[point+1:])
	}
	return sign, digits, fraction, true
}

// fractionNanos is a decimal fraction in billionths, the tenth digit rounded half up.
func fractionNanos(fraction string) int64 {
	n, scale := int64(0), int64(time.Second)
	for i := 0; i < len(fraction) && i < 9; i++ {
		n = n*10 + int64(fraction[i]-'0')
		scale /= 10
	}
	n *= scale
	if len(fraction) > 9 && fraction[9] >= '5' {
		n++
	}
	return n
}

func (f *field) wantedValue() string {
	what := "a number of at least 0"
	if f.kind == wholeNumber {
		what = "a whole number of at least 0"
	}
	if !f.must {
		what += ", or -1 for unknown"
	}
	return what
}

func tokenEnd(line []byte, pos int) int {
	for pos < len(line) && !isBlank(line[pos]) {
		pos++
	}
	return pos
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }
