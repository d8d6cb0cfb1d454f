package netgraph

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
)

// equalWithin is how much, in proportion, the two directions of a pair may
// differ and still be the same number written twice.
const equalWithin = 1e-9

// matrix is a CSV file being read: a header row with the names of the hosts,
// then a row of Mbit/s for each host in the same order. If there is one row
// less than there are columns, the first column may hold the names again.
type matrix struct {
	name  string
	hosts []string
	named bool // rows begin with the name of their host
	lines []int
	mbps  []float64
}

func parseCSV(name string, data []byte) (*nodesel.Network, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	rows, lines, err := readRecords(name, r)
	if err != nil {
		return nil, err
	}
	m := &matrix{name: name, lines: lines}
	if err := m.readHeader(rows); err != nil {
		return nil, err
	}
	for i, row := range rows[1:] {
		if err := m.readRow(i, row); err != nil {
			return nil, err
		}
	}
	return m.buildNetwork()
}

// readRecords reads all rows, with the line that each begins on.
func readRecords(name string, r *csv.Reader) (rows [][]string, lines []int, err error) {
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, lines, nil
		}
		if err != nil {
			e := &badinput.Error{File: name, Want: "valid CSV", Err: err}
			var bad *csv.ParseError
			if errors.As(err, &bad) {
				e.Line, e.Err = bad.Line, bad.Err
			}
			return nil, nil, e
		}
		line, _ := r.FieldPos(0)
		rows, lines = append(rows, row), append(lines, line)
	}
}

// readHeader reads the names and finds out whether rows repeat them.
func (m *matrix) readHeader(rows [][]string) error {
	if len(rows) == 0 {
		return &badinput.Error{File: m.name, Want: "a header row with the names of the hosts"}
	}
	m.hosts = rows[0]
	if n := len(rows) - 1; n == len(m.hosts)-1 && m.repeatsNames(rows) || n != len(m.hosts) &&
		strings.TrimSpace(m.hosts[0]) == "" {
		m.named, m.hosts = true, m.hosts[1:]
	}
	n := len(m.hosts)
	if n < 2 || n > maxHosts {
		return &badinput.Error{File: m.name, Line: m.lines[0],
			Want: fmt.Sprintf("a header row with 2 to %d hosts, it has %d", maxHosts, n)}
	}
	if len(rows)-1 != n {
		return &badinput.Error{File: m.name,
			Want: fmt.Sprintf("%d rows below the header, one for each host; there are %d", n, len(rows)-1)}
	}
	seen := map[string]bool{}
	for i, host := range m.hosts {
		host = strings.TrimSpace(host)
		if host == "" || seen[host] {
			return &badinput.Error{File: m.name, Line: m.lines[0], Field: "host " + strconv.Itoa(i+1), Value: host,
				Want: "a name that no other host has"}
		}
		m.hosts[i], seen[host] = host, true
	}
	m.mbps = make([]float64, n*n)
	return nil
}

// repeatsNames tells rows that begin with the name of their host from a matrix that
// lacks its last row.
func (m *matrix) repeatsNames(rows [][]string) bool {
	if len(rows) < 2 {
		return false
	}
	first := strings.TrimSpace(rows[1][0])
	_, err := strconv.ParseFloat(first, 64)
	return first == strings.TrimSpace(m.hosts[1]) || first != "" && err != nil
}

// readRow reads the bandwidths of one host. An empty cell is no connection; the
// diagonal says nothing.
func (m *matrix) readRow(i int, cells []string) error {
	n, line := len(m.hosts), m.lines[i+1]
	if m.named {
		if got := strings.TrimSpace(cells[0]); got != m.hosts[i] {
			return &badinput.Error{File: m.name, Line: line, Field: "host", Value: got, Want: m.hosts[i] + ", as in the header"}
		}
		cells = cells[1:]
	}
	if len(cells) != n {
		return &badinput.Error{File: m.name, Line: line,
			Want: fmt.Sprintf("%d bandwidths, one for each host; there are %d", n, len(cells))}
	}
	for j, cell := range cells {
		cell = strings.TrimSpace(cell)
		if i == j || cell == "" {
			continue
		}
		x, err := strconv.ParseFloat(cell, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 1) {
			return &badinput.Error{File: m.name, Line: line, Field: m.hosts[i] + " to " + m.hosts[j], Value: cell,
				Want: "a number above 0, or an empty cell for no connection"}
		}
		m.mbps[i*n+j] = x
	}
	return nil
}

// buildNetwork makes links of the cells; both directions of a pair must agree.
func (m *matrix) buildNetwork() (*nodesel.Network, error) {
	n := len(m.hosts)
	net := &nodesel.Network{Hosts: slices.Clone(m.hosts)}
	for i := range n {
		for j := range i {
			x, y := m.mbps[i*n+j], m.mbps[j*n+i]
			if math.Abs(x-y) > equalWithin*math.Max(x, y) {
				return nil, &badinput.Error{File: m.name, Line: m.lines[i+1], Field: m.hosts[i] + " to " + m.hosts[j],
					Value: formatNumber(x),
					Want:  fmt.Sprintf("%s, as from %s to %s; the matrix must be symmetric", formatNumber(y), m.hosts[j], m.hosts[i])}
			}
			if x > 0 {
				net.Links = append(net.Links, nodesel.Link{A: j, B: i, Mbps: math.Min(x, y)})
			}
		}
	}
	return net, nil
}
