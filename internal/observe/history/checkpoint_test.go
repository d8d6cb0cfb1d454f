package history

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestHowLargeACheckpointIs(t *testing.T) {
	save := func(job core.JobID, program string, bytes, sent int64) Transfer {
		return Transfer{What: Save, Job: job, Method: "sandbox", Program: program, Bytes: bytes, Sent: sent,
			Seconds: 1}
	}
	like := &Transfer{Job: 7, Method: "sandbox", Program: "burn"}
	for _, c := range []struct {
		name string
		rows []Transfer
		want float64 // bytes, and the part of them that is sent
		part float64
	}{
		{"nothing was ever saved", nil, 1000, 1},
		{"another program", []Transfer{save(5, "pi", 500, 50), save(5, "pi", 500, 200)}, 1000, 0.4},
		{"another job of the program",
			[]Transfer{save(5, "burn", 600, 60), save(4, "burn", 500, 150), save(5, "pi", 500, 500)}, 600, 0.3},
		{"this job", []Transfer{save(5, "burn", 600, 60), save(7, "burn", 700, 7), save(7, "burn", 650, 130)}, 700,
			0.2},
		{"sent twice", []Transfer{save(7, "burn", 700, 900)}, 700, 1},
		{"another method", []Transfer{{What: Save, Job: 7, Method: "signal", Program: "burn", Bytes: 10,
			Sent: 1}}, 1000, 1},
	} {
		if size, part := CheckpointSize(c.rows, like, 1000), SentPart(c.rows, like); size != c.want || part != c.part {
			t.Errorf("%s: %v bytes, of which %v are sent; want %v, %v", c.name, size, part, c.want, c.part)
		}
	}
}

func TestWhatAMoveSendsIsWhatItSentLastTime(t *testing.T) {
	save := func(program string, bytes, sent int64) Transfer {
		return Transfer{What: Save, Method: "sandbox", Program: program, Bytes: bytes, Sent: sent, Seconds: 1}
	}
	like := Transfer{What: Save, Method: "sandbox", Program: "burn"}
	for _, c := range []struct {
		name string
		rows []Transfer
		want int64
	}{
		{"nothing was ever saved", nil, 1000},
		{"another program, of which a tenth was new", []Transfer{save("pi", 500, 50)}, 100},
		{"the same program; the newest counts",
			[]Transfer{save("burn", 500, 7), save("pi", 500, 50), save("burn", 500, 9)}, 7},
		{"another method", []Transfer{{What: Save, Method: "signal", Program: "burn", Bytes: 10, Sent: 1}},
			1000},
	} {
		if got := UnsentBytes(c.rows, like, 1000); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
