package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/mpi/capture/sockets"
)

// Format is what a pattern file of ours says it is.
const Format = "godwit-pattern/1"

// Pattern is a captured program. Its nodes and edges are a pattern as everybody
// reads it; the rest is ours.
type Pattern struct {
	Format     string       `json:"format"`
	Source     string       `json:"source,omitempty"` // OfSockets, or empty: calls of MPI
	Program    string       `json:"program"`
	Nodes      int          `json:"nodes"`
	Edges      []Edge       `json:"edges"`
	Seconds    float64      `json:"seconds"`          // from MPI_Init to MPI_Finalize, of the rank that took longest
	Share      float64      `json:"share"`            // of its time that is spent in calls of MPI, the mean of all ranks
	Bytes      [][]int64    `json:"bytes"`            // in messages of the program, from row to column
	Messages   [][]int64    `json:"messages"`         // their number
	Collective [][]int64    `json:"collective_bytes"` // in collective operations, as they are usually done
	Sizes      []Size       `json:"sizes"`
	Operations []Collective `json:"collectives"`
	Phases     []Phase      `json:"phases"`
	Unlike     int64        `json:"unlike,omitempty"` // calls that a skeleton will lack
	Groups     [][]int      `json:"groups"`           // ranks that calls speak of together
	Ranks      []Rank       `json:"ranks"`
	// Names are those of processes, and Others those that did not come from the program,
	// if it was seen by its sockets.
	Names  []string             `json:"names,omitempty"`
	Others []sockets.RemotePeer `json:"others,omitempty"`
	// Trials are runs of its skeleton that somebody wanted kept.
	Trials []netgraph.Trial `json:"trials,omitempty"`
}

// OfSockets is the source of a pattern whose nodes are processes that were seen to talk
// over TCP: how much to whom, but not when nor in how many messages.
const OfSockets = "sockets"

// Edge is a pair of ranks that talk much: at least a hundredth of what the pair does
// that talks most, whose weight is 1. Links carry both directions at once, so the
// larger direction counts.
type Edge struct {
	A      int     `json:"a"`
	B      int     `json:"b"`
	Weight float64 `json:"weight"`
}

// Size is messages of at least so many bytes and less than twice that.
type Size struct {
	Bytes    int64 `json:"bytes"`
	Messages int64 `json:"messages"`
}

// Collective is all collective operations of a kind in a group.
type Collective struct {
	Kind    string  `json:"kind"`
	Group   int     `json:"group"`
	Root    int     `json:"root"`    // -2: it has none
	Calls   int64   `json:"calls"`   // of each member
	Bytes   int64   `json:"bytes"`   // as the members gave them, all together
	Seconds float64 `json:"seconds"` // the mean of the members
}

// Phase is a loop that all its ranks go round together.
type Phase struct {
	Rounds  int64     `json:"rounds"`
	Seconds float64   `json:"seconds"` // the mean of its ranks
	Bytes   [][]int64 `json:"bytes"`   // messages and collective operations, of all rounds
}

// Rank is what one rank did.
type Rank struct {
	Host    string  `json:"host"`
	Seconds float64 `json:"seconds"`
	Compute float64 `json:"compute"` // processor's time between calls
	Inside  float64 `json:"inside"`  // in calls
	Spin    float64 `json:"spin"`    // turns of the runner's loop in a second of its processor
	Coarse  int     `json:"coarse"`  // 1: tags are not told apart; 2: nor are lengths
	Lost    int64   `json:"lost"`    // calls after the sequence became too long
	Calls   []Node  `json:"calls"`
}

// Node is a call, or a loop around nodes. What differs from one time to the next is
// the mean.
type Node struct {
	Rounds int64  `json:"rounds,omitempty"`
	Body   []Node `json:"body,omitempty"`

	Call    string  `json:"call,omitempty"`
	Group   int     `json:"group,omitempty"`
	Peer    int     `json:"peer"` // to or from whom, or the root: a rank of the world
	Tag     int     `json:"tag,omitempty"`
	From    int     `json:"from,omitempty"` // of sendrecv
	FromTag int     `json:"from_tag,omitempty"`
	Slot    int     `json:"slot"`              // the request that it begins
	Bytes   int64   `json:"bytes,omitempty"`   // sent, to each
	List    []int64 `json:"list,omitempty"`    // slots that are waited for; bytes for each member
	Compute float64 `json:"compute,omitempty"` // processor's time before it
	Gap     float64 `json:"gap,omitempty"`     // the clock's
	Inside  float64 `json:"inside,omitempty"`
}

// What peers and slots may be besides numbers.
const (
	Anybody = -1
	Nobody  = -2
	NoSlot  = -1
)

// IsLoop reports whether a node is a loop.
func (n *Node) IsLoop() bool { return len(n.Body) > 0 }

// Kinds of calls, as records and pattern files name them.
var kinds = []string{
	"send", "ssend", "recv", "isend", "issend", "irecv", "sendrecv", "wait", "free",
	"barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "scatter", "allgather", "alltoall",
	"reduce_scatter_block", "reduce_scatter", "gatherv", "scatterv", "allgatherv", "alltoallv",
}

// IsCollective reports whether all members of a group make the call.
func IsCollective(kind string) bool {
	return slices.Index(kinds, kind) >= slices.Index(kinds, "barrier")
}

// SendsMessage reports whether a call sends a message of its own.
func SendsMessage(kind string) bool {
	return kind == "send" || kind == "ssend" || kind == "isend" || kind == "issend" || kind == "sendrecv"
}

// Bounds of what is read, so that a wrong file cannot fill the memory.
const (
	maxFileBytes = 256 << 20
	maxRanks     = 4096
	maxDepth     = 64
	maxBytes     = 1 << 50 // of one call; MPI counts to 2^31, but numbers and not bytes
	maxSlot      = 1 << 20
	maxRounds    = 1 << 50
	maxSum       = 1 << 60 // of what a rank counted: several can be added
)

// Read reads a pattern file of ours.
func Read(path string) (*Pattern, error) {
	data, err := yamlfile.ReadFile(path, "a pattern file", maxFileBytes)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads a pattern from text. name is the file as the user knows it.
func Parse(name string, data []byte) (*Pattern, error) {
	var p Pattern
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&p)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	if p.Format != Format && (err == nil || p.Format != "") {
		return nil, &badinput.Error{File: name, Field: "format", Value: p.Format, Want: Format +
			", as godwit capture writes it"}
	}
	if err != nil {
		return nil, &badinput.Error{File: name, Want: "a pattern file as godwit capture writes it", Err: err}
	}
	if err := p.checkPattern(); err != nil {
		err.File = name
		return nil, err
	}
	return &p, nil
}

// checkPattern finds what cannot be in a pattern.
func (p *Pattern) checkPattern() *badinput.Error {
	if p.Nodes < 1 || p.Nodes > maxRanks {
		return &badinput.Error{Field: "nodes", Value: fmt.Sprint(p.Nodes),
			Want: fmt.Sprintf("a number from 1 to %d", maxRanks)}
	}
	if err := p.checkSource(); err != nil {
		return err
	}
	if !(p.Seconds >= 0 && p.Share >= 0 && p.Share <= 1) {
		return &badinput.Error{Field: "share", Value: fmt.Sprint(p.Share), Want: "from 0 to 1"}
	}
	for _, m := range []struct {
		name string
		is   [][]int64
	}{{"bytes", p.Bytes}, {"messages", p.Messages}, {"collective_bytes", p.Collective}} {
		if err := p.checkMatrix(m.name, m.is); err != nil {
			return err
		}
	}
	if err := p.checkEdges(); err != nil {
		return err
	}
	if err := p.checkGroups(); err != nil {
		return err
	}
	for i := range p.Trials {
		if err := p.Trials[i].CheckHosts(p.Nodes); err != nil {
			return &badinput.Error{Field: fmt.Sprintf("trials[%d]", i), Want: err.Error()}
		}
	}
	for i := range p.Ranks {
		r := &p.Ranks[i]
		if !(r.Spin > 0 && r.Seconds >= 0 && r.Compute >= 0 && r.Inside >= 0) {
			return &badinput.Error{Field: fmt.Sprintf("ranks[%d]", i), Want: "times of at least 0 and a spin above 0"}
		}
		if err := p.checkNodes(r.Calls, fmt.Sprintf("ranks[%d].calls", i), 1, 0); err != nil {
			return err
		}
	}
	return nil
}

// checkSource finds what a pattern cannot have because of what it was captured from.
func (p *Pattern) checkSource() *badinput.Error {
	ranks, names := p.Nodes, 0
	switch p.Source {
	case "":
	case OfSockets:
		ranks, names = 0, p.Nodes
	default:
		return &badinput.Error{Field: "source", Value: p.Source, Want: OfSockets + ", or none"}
	}
	if len(p.Ranks) != ranks {
		return &badinput.Error{Field: "ranks", Want: fmt.Sprintf("as many as nodes, %d; there are %d", ranks, len(p.Ranks))}
	}
	if len(p.Names) != names {
		return &badinput.Error{Field: "names",
			Want: fmt.Sprintf("as many as nodes that are processes, %d; there are %d", names, len(p.Names))}
	}
	for i, o := range p.Others {
		if o.Node < 0 || o.Node >= names || o.Sent < 0 || o.Received < 0 {
			return &badinput.Error{Field: fmt.Sprintf("others[%d]", i), Want: "one of the processes, and numbers of at least 0"}
		}
	}
	return nil
}

func (p *Pattern) checkMatrix(name string, m [][]int64) *badinput.Error {
	for i, row := range m {
		for j, x := range row {
			if x < 0 {
				return &badinput.Error{Field: fmt.Sprintf("%s[%d][%d]", name, i, j), Value: fmt.Sprint(x),
					Want: "a number of at least 0"}
			}
		}
		if len(row) != p.Nodes {
			return &badinput.Error{Field: fmt.Sprintf("%s[%d]", name, i),
				Want: fmt.Sprintf("%d numbers, there are %d", p.Nodes, len(row))}
		}
	}
	if len(m) != p.Nodes {
		return &badinput.Error{Field: name, Want: fmt.Sprintf("%d rows, there are %d", p.Nodes, len(m))}
	}
	return nil
}

func (p *Pattern) checkEdges() *badinput.Error {
	for i, e := range p.Edges {
		if e.A < 0 || e.B < 0 || e.A >= p.Nodes || e.B >= p.Nodes || e.A == e.B || !(e.Weight > 0) ||
			math.IsInf(e.Weight, 1) {
			return &badinput.Error{Field: fmt.Sprintf("edges[%d]", i), Want: "two different nodes and a weight above 0"}
		}
	}
	return nil
}

func (p *Pattern) checkGroups() *badinput.Error {
	for i, g := range p.Groups {
		seen := map[int]bool{}
		for _, r := range g {
			if r < 0 || r >= p.Nodes || seen[r] {
				return &badinput.Error{Field: fmt.Sprintf("groups[%d]", i), Value: fmt.Sprint(r), Want: "different ranks"}
			}
			seen[r] = true
		}
		if len(g) == 0 {
			return &badinput.Error{Field: fmt.Sprintf("groups[%d]", i), Want: "at least one rank"}
		}
	}
	return nil
}

// checkNodes checks calls inside loops that go round so many times together.
func (p *Pattern) checkNodes(nodes []Node, field string, times int64, depth int) *badinput.Error {
	for i := range nodes {
		n := &nodes[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		if !n.IsLoop() {
			if err := p.checkCall(n, at); err != nil {
				return err
			}
			continue
		}
		if n.Rounds < 1 || n.Rounds > maxRounds/times || n.Call != "" || depth >= maxDepth {
			return &badinput.Error{Field: at + ".rounds", Value: fmt.Sprint(n.Rounds), Want: "a loop that can be gone round"}
		}
		if err := p.checkNodes(n.Body, at+".body", times*n.Rounds, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pattern) checkCall(n *Node, at string) *badinput.Error {
	bad := func(field string, value any, want string) *badinput.Error {
		return &badinput.Error{Field: at + "." + field, Value: fmt.Sprint(value), Want: want}
	}
	rank := func(r int) bool { return r >= Nobody && r < p.Nodes }
	switch {
	case !slices.Contains(kinds, n.Call):
		return bad("call", n.Call, "a call of MPI that can be captured")
	case n.Rounds != 0:
		return bad("rounds", n.Rounds, "none: it is a call")
	case n.Group < 0 || n.Group >= len(p.Groups):
		return bad("group", n.Group, "one of groups")
	case !rank(n.Peer):
		return bad("peer", n.Peer, "a rank")
	case !rank(n.From):
		return bad("from", n.From, "a rank")
	case n.Tag < Anybody || n.FromTag < Anybody || n.Tag > math.MaxInt32 || n.FromTag > math.MaxInt32:
		return bad("tag", n.Tag, "a tag of MPI")
	case n.Slot < NoSlot || n.Slot > maxSlot:
		return bad("slot", n.Slot, "a small number")
	case n.Bytes < 0 || n.Bytes > maxBytes:
		return bad("bytes", n.Bytes, fmt.Sprintf("a number from 0 to %d", int64(maxBytes)))
	case !(n.Compute >= 0 && n.Gap >= 0 && n.Inside >= 0) || n.Compute+n.Gap+n.Inside > 1e9:
		return bad("compute", n.Compute, "times of at least 0")
	}
	for _, x := range n.List {
		if x < 0 || x > maxBytes || n.Call == "wait" && x > maxSlot {
			return bad("list", x, fmt.Sprintf("a number from 0 to %d, or of a slot", int64(maxBytes)))
		}
	}
	return nil
}

// EncodeText is the pattern as a file holds it.
func (p *Pattern) EncodeText() ([]byte, error) {
	data, err := json.MarshalIndent(p, "", " ")
	return append(data, '\n'), err
}
