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

func (r *reader) fail(want string) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: %q is not %s", r.number, r.line, want)
	}
}

// next goes to the next line and reports whether it begins with a word.
func (r *reader) next() string {
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
		r.fail("a line of a record")
		return ""
	}
	first := r.words[0]
	r.words = r.words[1:]
	return first
}

// want goes to the next line, which must begin with a word.
func (r *reader) want(word string) {
	if got := r.next(); r.err == nil && got != word {
		r.fail("a line with " + word)
	}
}

func (r *reader) word() string {
	if r.err != nil || len(r.words) == 0 {
		r.fail("as long as it should be")
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

func (r *reader) whole(from, to int64) int64 {
	w := r.word()
	x, err := strconv.ParseInt(w, 10, 64)
	if r.err == nil && (err != nil || x < from || x > to) {
		r.fail(fmt.Sprintf("one with numbers from %d to %d", from, to))
	}
	return x
}

func (r *reader) time() float64 {
	x, err := strconv.ParseFloat(r.word(), 64)
	if r.err == nil && (err != nil || !(x >= 0 && x <= 1e9)) {
		r.fail("one with times of at least 0")
	}
	return x
}

func (r *reader) ended() {
	if r.err == nil && len(r.words) > 0 {
		r.fail("one that ends here")
	}
}

// parseRecord reads what a rank wrote.
func parseRecord(data []byte) (*record, error) {
	r := &reader{lines: bufio.NewScanner(bytes.NewReader(data))}
	r.lines.Buffer(nil, 64<<20)
	rec := &record{peers: map[int]toPeer{}, fetched: map[int]fromPeer{}, sizes: map[int]int64{}}
	r.want("godwit-capture")
	r.whole(1, 1)
	r.want("rank")
	rank := r.whole(0, maxRanks-1)
	rec.rank, rec.ranks = int(rank), int(r.whole(rank+1, maxRanks))
	r.ended()
	r.want("host")
	rec.host = r.word()
	r.want("program")
	rec.program = strings.Join(r.words, " ")
	r.want("state")
	if rec.state = r.word(); !slices.Contains([]string{"finalized", "aborted", "exited"}, rec.state) {
		r.fail("how a rank ends")
	}
	r.want("seconds")
	rec.seconds, rec.cpu, rec.gap, rec.inside = r.time(), r.time(), r.time(), r.time()
	r.ended()
	r.want("spin")
	rec.spin = float64(r.whole(1, 1<<40))
	r.want("odd")
	rec.odd = r.whole(0, math.MaxInt64)
	rec.tables(r)
	if r.err != nil {
		return nil, r.err
	}
	return rec, nil
}

// tables reads the lines after the head.
func (rec *record) tables(r *reader) {
	for r.err == nil {
		switch r.next() {
		case "group":
			rec.group(r)
		case "peer":
			peer := int(r.whole(0, int64(rec.ranks-1)))
			rec.peers[peer] = toPeer{r.whole(0, maxSum), r.whole(0, maxSum), r.whole(0, maxSum)}
		case "fetched":
			peer := int(r.whole(0, int64(rec.ranks-1)))
			rec.fetched[peer] = fromPeer{r.whole(0, maxSum), r.whole(0, maxSum)}
		case "size":
			size := int(r.whole(0, 62))
			rec.sizes[size] = r.whole(0, math.MaxInt64)
		case "collective":
			c := collective{kind: r.word()}
			if r.err == nil && (!slices.Contains(kinds, c.kind) || !IsCollective(c.kind)) {
				r.fail("a collective operation")
			}
			c.group, c.root = int(r.whole(0, int64(len(rec.groups)-1))), int(r.whole(Nobody, int64(rec.ranks-1)))
			c.calls, c.bytes, c.seconds = r.whole(1, math.MaxInt64), r.whole(0, math.MaxInt64), r.time()
			rec.collectives = append(rec.collectives, c)
		case "sequence":
			rec.sequence(r)
			return
		default:
			r.fail("a line of a record")
		}
		r.ended()
	}
}

func (rec *record) group(r *reader) {
	g := group{between: r.whole(0, 1) == 1}
	for range r.whole(1, int64(rec.ranks)) {
		if r.err != nil {
			return
		}
		// Ranks of another world have no number in this one.
		m := int(r.whole(math.MinInt32, int64(rec.ranks-1)))
		if !g.between && (m < 0 || slices.Contains(g.members, m)) {
			r.fail("a group of different ranks")
		}
		g.members = append(g.members, m)
	}
	rec.groups = append(rec.groups, g)
}

func (rec *record) sequence(r *reader) {
	n := r.whole(0, 1<<24)
	rec.coarse = int(r.whole(0, 2))
	rec.added, rec.lost = r.whole(0, math.MaxInt64), r.whole(0, math.MaxInt64)
	r.ended()
	rec.calls = rec.nodes(r, n, 1, 0)
	r.want("end")
	r.ended()
	if r.err == nil && r.lines.Scan() {
		r.fail("the last line")
	}
}

// nodes reads so many of them, inside loops that go round so many times together.
func (rec *record) nodes(r *reader, n, times int64, depth int) []Node {
	var list []Node
	for range n {
		switch word := r.next(); {
		case r.err != nil:
			return nil
		case word == "loop" && depth < maxDepth:
			loop := Node{Rounds: r.whole(1, maxRounds/times)}
			body := r.whole(1, 1<<24)
			r.ended()
			if r.err == nil {
				loop.Body = rec.nodes(r, body, times*loop.Rounds, depth+1)
			}
			list = append(list, loop)
		case word == "call":
			list = append(list, rec.call(r))
		default:
			r.fail("a loop or a call")
		}
		r.ended()
	}
	return list
}

func (rec *record) call(r *reader) Node {
	n := Node{Call: r.word()}
	if r.err == nil && !slices.Contains(kinds, n.Call) {
		r.fail("a known call")
	}
	last := int64(rec.ranks - 1)
	n.Group = int(r.whole(0, int64(len(rec.groups)-1)))
	n.Peer, n.Tag = int(r.whole(Nobody, last)), int(r.whole(Anybody, math.MaxInt32))
	n.From, n.FromTag = int(r.whole(Nobody, last)), int(r.whole(Anybody, math.MaxInt32))
	n.Slot = int(r.whole(NoSlot, maxSlot))
	n.Bytes = r.whole(0, math.MaxInt64)
	times := float64(r.whole(1, math.MaxInt64))
	n.Compute, n.Gap, n.Inside = r.time()/times, r.time()/times, r.time()/times
	for range r.whole(0, maxSlot) {
		if r.err != nil {
			break
		}
		n.List = append(n.List, r.whole(0, math.MaxInt64))
	}
	if n.Call == "alltoallv" || n.Call == "scatterv" {
		// What stands there is the sum, and the list that of the first time.
		share(n.List, n.Bytes)
		n.Bytes = 0
	}
	if n.Bytes > maxBytes || len(n.List) > 0 && slices.Max(n.List) > maxBytes {
		r.fail(fmt.Sprintf("one with lengths of at most %d", int64(maxBytes)))
	}
	return n
}

// share changes the numbers of a list so that their sum is that of all.
func share(list []int64, all int64) {
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
