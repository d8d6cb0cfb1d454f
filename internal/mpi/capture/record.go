package capture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// record is what one rank wrote.
type record struct {
	rank, ranks               int
	host, program, state      string
	seconds, cpu, gap, inside float64
	spin                      float64
	odd                       int64
	groups                    []group
	peers                     map[int]toPeer
	fetched                   map[int]fromPeer
	sizes                     map[int]int64
	collectives               []collective
	coarse                    int
	added, lost               int64
	calls                     []Node
}

type group struct {
	between bool
	members []int
}

type toPeer struct{ bytes, messages, collective int64 }

// fromPeer is what a rank took from another, which knows nothing of it.
type fromPeer struct{ bytes, messages int64 }

type collective struct {
	kind         string
	group, root  int
	calls, bytes int64
	seconds      float64
}

// reader goes through a record line by line. The first thing that is wrong stays.
type reader struct {
	lines  *bufio.Scanner
	number int
	words  []string
	line   string
	err    error
}

func (r *reader) failLine(want string) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: %q is not %s", r.number, r.line, want)
	}
}

// nextLine goes to the next line and reports whether it begins with a word.
func (r *reader) nextLine() string {
	if r.err != nil {
		return ""
	}
	if !r.lines.Scan() {
		r.err = errors.Join(errors.New("the record ends too early"), r.lines.Err())
		return ""
	}
	r.number++
	r.line = r.lines.Text()
	r.words = strings.Fields(r.line)
	if len(r.words) == 0 {
		r.failLine("a line of a record")
		return ""
	}
	first := r.words[0]
	r.words = r.words[1:]
	return first
}

// wantLine goes to the next line, which must begin with a word.
func (r *reader) wantLine(word string) {
	if got := r.nextLine(); r.err == nil && got != word {
		r.failLine("a line with " + word)
	}
}

func (r *reader) nextWord() string {
	if r.err != nil || len(r.words) == 0 {
		r.failLine("as long as it should be")
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

func (r *reader) wholeNumber(from, to int64) int64 {
	w := r.nextWord()
	x, err := strconv.ParseInt(w, 10, 64)
	if r.err == nil && (err != nil || x < from || x > to) {
		r.failLine(fmt.Sprintf("one with numbers from %d to %d", from, to))
	}
	return x
}

func (r *reader) timeValue() float64 {
	x, err := strconv.ParseFloat(r.nextWord(), 64)
	if r.err == nil && (err != nil || !(x >= 0 && x <= 1e9)) {
		r.failLine("one with times of at least 0")
	}
	return x
}

func (r *reader) checkEnded() {
	if r.err == nil && len(r.words) > 0 {
		r.failLine("one that ends here")
	}
}

// parseRecord reads what a rank wrote.
func parseRecord(data []byte) (*record, error) {
	r := &reader{lines: bufio.NewScanner(bytes.NewReader(data))}
	r.lines.Buffer(nil, 64<<20)
	rec := &record{peers: map[int]toPeer{}, fetched: map[int]fromPeer{}, sizes: map[int]int64{}}
	r.wantLine("godwit-capture")
	r.wholeNumber(1, 1)
	r.wantLine("rank")
	rank := r.wholeNumber(0, maxRanks-1)
	rec.rank, rec.ranks = int(rank), int(r.wholeNumber(rank+1, maxRanks))
	r.checkEnded()
	r.wantLine("host")
	rec.host = r.nextWord()
	r.wantLine("program")
	rec.program = strings.Join(r.words, " ")
	r.wantLine("state")
	if rec.state = r.nextWord(); !slices.Contains([]string{"finalized", "aborted", "exited"}, rec.state) {
		r.failLine("how a rank ends")
	}
	r.wantLine("seconds")
	rec.seconds, rec.cpu, rec.gap, rec.inside = r.timeValue(), r.timeValue(), r.timeValue(), r.timeValue()
	r.checkEnded()
	r.wantLine("spin")
	rec.spin = float64(r.wholeNumber(1, 1<<40))
	r.wantLine("odd")
	rec.odd = r.wholeNumber(0, math.MaxInt64)
	rec.readTables(r)
	if r.err != nil {
		return nil, r.err
	}
	return rec, nil
}

// readTables reads the lines after the head.
func (rec *record) readTables(r *reader) {
	for r.err == nil {
		switch r.nextLine() {
		case "group":
			rec.readGroup(r)
		case "peer":
			peer := int(r.wholeNumber(0, int64(rec.ranks-1)))
			rec.peers[peer] = toPeer{r.wholeNumber(0, maxSum), r.wholeNumber(0, maxSum), r.wholeNumber(0, maxSum)}
		case "fetched":
			peer := int(r.wholeNumber(0, int64(rec.ranks-1)))
			rec.fetched[peer] = fromPeer{r.wholeNumber(0, maxSum), r.wholeNumber(0, maxSum)}
		case "size":
			size := int(r.wholeNumber(0, 62))
			rec.sizes[size] = r.wholeNumber(0, math.MaxInt64)
		case "collective":
			c := collective{kind: r.nextWord()}
			if r.err == nil && (!slices.Contains(kinds, c.kind) || !IsCollective(c.kind)) {
				r.failLine("a collective operation")
			}
			c.group, c.root = int(r.wholeNumber(0, int64(len(rec.groups)-1))), int(r.wholeNumber(Nobody, int64(rec.ranks-1)))
			c.calls, c.bytes, c.seconds = r.wholeNumber(1, math.MaxInt64), r.wholeNumber(0, math.MaxInt64), r.timeValue()
			rec.collectives = append(rec.collectives, c)
		case "sequence":
			rec.readSequence(r)
			return
		default:
			r.failLine("a line of a record")
		}
		r.checkEnded()
	}
}

func (rec *record) readGroup(r *reader) {
	g := group{between: r.wholeNumber(0, 1) == 1}
	for range r.wholeNumber(1, int64(rec.ranks)) {
		if r.err != nil {
			return
		}
		// Ranks of another world have no number in this one.
		m := int(r.wholeNumber(math.MinInt32, int64(rec.ranks-1)))
		if !g.between && (m < 0 || slices.Contains(g.members, m)) {
			r.failLine("a group of different ranks")
		}
		g.members = append(g.members, m)
	}
	rec.groups = append(rec.groups, g)
}

func (rec *record) readSequence(r *reader) {
	n := r.wholeNumber(0, 1<<24)
	rec.coarse = int(r.wholeNumber(0, 2))
	rec.added, rec.lost = r.wholeNumber(0, math.MaxInt64), r.wholeNumber(0, math.MaxInt64)
	r.checkEnded()
	rec.calls = rec.readNodes(r, n, 1, 0)
	r.wantLine("end")
	r.checkEnded()
	if r.err == nil && r.lines.Scan() {
		r.failLine("the last line")
	}
}

// readNodes reads so many of them, inside loops that go round so many times together.
func (rec *record) readNodes(r *reader, n, times int64, depth int) []Node {
	var list []Node
	for range n {
		switch word := r.nextLine(); {
		case r.err != nil:
			return nil
		case word == "loop" && depth < maxDepth:
			loop := Node{Rounds: r.wholeNumber(1, maxRounds/times)}
			body := r.wholeNumber(1, 1<<24)
			r.checkEnded()
			if r.err == nil {
				loop.Body = rec.readNodes(r, body, times*loop.Rounds, depth+1)
			}
			list = append(list, loop)
		case word == "call":
			list = append(list, rec.readCall(r))
		default:
			r.failLine("a loop or a call")
		}
		r.checkEnded()
	}
	return list
}

func (rec *record) readCall(r *reader) Node {
	n := Node{Call: r.nextWord()}
	if r.err == nil && !slices.Contains(kinds, n.Call) {
		r.failLine("a known call")
	}
	last := int64(rec.ranks - 1)
	n.Group = int(r.wholeNumber(0, int64(len(rec.groups)-1)))
	n.Peer, n.Tag = int(r.wholeNumber(Nobody, last)), int(r.wholeNumber(Anybody, math.MaxInt32))
	n.From, n.FromTag = int(r.wholeNumber(Nobody, last)), int(r.wholeNumber(Anybody, math.MaxInt32))
	n.Slot = int(r.wholeNumber(NoSlot, maxSlot))
	n.Bytes = r.wholeNumber(0, math.MaxInt64)
	times := float64(r.wholeNumber(1, math.MaxInt64))
	n.Compute, n.Gap, n.Inside = r.timeValue()/times, r.timeValue()/times, r.timeValue()/times
	for range r.wholeNumber(0, maxSlot) {
		if r.err != nil {
			break
		}
		n.List = append(n.List, r.wholeNumber(0, math.MaxInt64))
	}
	if n.Call == "alltoallv" || n.Call == "scatterv" {
		// What stands there is the sum, and the list that of the first time.
		scaleToSum(n.List, n.Bytes)
		n.Bytes = 0
	}
	if n.Bytes > maxBytes || len(n.List) > 0 && slices.Max(n.List) > maxBytes {
		r.failLine(fmt.Sprintf("one with lengths of at most %d", int64(maxBytes)))
	}
	return n
}

// scaleToSum changes the numbers of a list so that their sum is that of all.
func scaleToSum(list []int64, all int64) {
	var sum float64
	for _, x := range list {
		sum += float64(x)
	}
	if sum == 0 || sum == float64(all) {
		return
	}
	for i, x := range list {
		list[i] = int64(math.Round(float64(x) * float64(all) / sum))
	}
}
