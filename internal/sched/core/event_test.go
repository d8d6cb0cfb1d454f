package core

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// fullEvent has a value in every field.
func fullEvent() Event {
	return Event{
		At: AtSecond(1.5), Kind: PartOffered, Job: 7, Epoch: 2, Part: 1, Component: 1, Cluster: 3, From: Queued, To: Running,
		N: -4, Min: 1, Max: 9, Procs: ProcSet{{0, 4}, {8, 9}}, When: Never, Done: 0.5, Mandatory: true, Grow: true, Serial: 6,
		Aim:  AimAt(2),
		Hold: HeldArray, Array: 5, ExitCode: 3, Lost: true, Barred: true, NeverRan: true, Reachable: true, Share: 0.5,
		QueueWait: 7, Rating: 0.9, Ranks: []int{2, 0, 1},
		Why: Reason{MakeRoom, 7, 4},
		Spec: &Job{ID: 7, Name: "qr", User: "u", App: "scalapack", Kind: Malleable, Place: FlexibleMin, Estimate: time.Minute,
			Deadline: AtSecond(99), MaxTries: 3, Retries: 1, Spread: 0.2, Begin: AtSecond(3), Array: 5, ArrayLimit: 2, Joint: true,
			Contract: &Contract{Rule: "average", Lower: 0.7, Upper: 2, Consecutive: 3},
			After: []Dependency{{Job: 2, Array: true, When: AfterAny,
				Target: Target{Unfinished: 2, NotStarted: 1, Failed: 1, FailedJob: 3}}},
			Components: []Component{{Min: 1, Max: 9, Initial: 2, Inputs: []FileID{4}, Clusters: []ClusterID{0, 3},
				Memory:  1 << 30,
				Pattern: &Pattern{Name: "path", Nodes: 3, Edges: []Edge{{A: 0, B: 1, Weight: 2}}}}}},
		Net: &Network{Mbps: []float64{1, 2, 3}},
		Grid: &ClusterSpec{Name: "a", Hosts: []HostSpec{{Name: "n1", Procs: 4, Speed: 1, Memory: 1 << 30}}, KeepFree: 1, GrowFree: 1,
			Managed: true, Depth: 3, Reserves: true, Removed: true, Isolated: true},
		Drain: &Drain{Host: "n1", By: "root", Reason: "new disks", Since: AtSecond(1.5)}, Between: &[2]string{"a", "b"},
		Change: &Change{Deadline: new(Time), Begin: new(Time), Name: "n", Labels: map[string]string{"a": "b"},
			Clusters: []ClusterID{1}, On: []string{"a"}, Anywhere: true},
		Promise: 100, Gain: &Gain{Current: 200, New: 50, Cost: MoveCost{Write: 1, Weather: 2, Schedule: 3, Start: 4, Other: 5,
			Redistribute: 6}, Gain: 0.6, Threshold: 0.3, Moves: true, Forced: "always", Size: 8, Where: "b"},
	}
}

func TestEveryFieldOfAnEventIsInTheLog(t *testing.T) {
	ev := fullEvent()
	for v, i := reflect.ValueOf(ev), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Fatalf("the test gives field %s no value", v.Type().Field(i).Name)
		}
	}
	text, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var back Event
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, ev) {
		t.Fatalf("%s is read back as %+v, %v", text, back, err)
	}
}

func TestAnEventSaysOnlyWhatItHasToSay(t *testing.T) {
	text, err := json.Marshal(Event{At: 5, Kind: QueueScanned})
	if want := `{"at":5,"kind":"queue-scanned"}`; err != nil || string(text) != want {
		t.Errorf("an event is written %s, %v, want %s", text, err, want)
	}
}

// FuzzEventJSON: whatever is read as an event is written and read back the
// same.
func FuzzEventJSON(f *testing.F) {
	full, err := json.Marshal(fullEvent())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add([]byte(`{"at":5,"kind":"queue-scanned"}`))
	f.Add([]byte(`{"kind":"job-became","from":"QUEUED","to":"RUNNING","why":{"code":"cluster-started","a":4}}`))
	f.Add([]byte(`{"kind":"part-held","procs":[],"spec":{"Components":[{"Inputs":[]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var ev Event
		if json.Unmarshal(data, &ev) != nil || ev.Kind == 0 {
			return
		}
		once, err := json.Marshal(ev)
		if err != nil {
			t.Fatalf("%+v was read but cannot be written: %v", ev, err)
		}
		var back Event
		if err := json.Unmarshal(once, &back); err != nil {
			t.Fatalf("%s was written but cannot be read: %v", once, err)
		}
		if again, err := json.Marshal(back); err != nil || !bytes.Equal(once, again) {
			t.Fatalf("written %s, read back and written %s, %v", once, again, err)
		}
	})
}

// Logs of earlier versions hold patterns in this form.
func TestAPatternIsWrittenAsItWas(t *testing.T) {
	const text = `{"Name":"pair","Nodes":2,"Pairs":[{"A":0,"B":1,"Weight":2}]}`
	want := Pattern{Name: "pair", Nodes: 2, Edges: []Edge{{A: 0, B: 1, Weight: 2}}}
	var read Pattern
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, want) {
		t.Errorf("read as %+v, want %+v", read, want)
	}
	written, err := json.Marshal(want)
	if err != nil || string(written) != text {
		t.Errorf("written as %s, %v", written, err)
	}
}
