package selfreport

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatAProgramCanSay(t *testing.T) {
	for line, want := range map[string]Message{
		`{"v":1,"kind":"message","text":"half the grid is done"}`:    {1, MessageText, "half the grid is done", "", 0, 0},
		`{"v":1,"kind":"phase","name":"solve"}`:                      {1, MessagePhase, "", "solve", 0, 0},
		`{"v":1,"kind":"progress","done":3,"of":10}`:                 {1, MessageProgress, "", "", 3, 10},
		`{"v":1,"kind":"phase","name":"x","of":3}`:                   {1, MessagePhase, "", "x", 0, 0},
		`{"v":1,"kind":"progress","of":10}`:                          {1, MessageProgress, "", "", 0, 10},
		`{"v":1,"kind":"message","text":"a\u001b[31m\nb \ufffe \t"}`: {1, MessageText, "a [31m b", "", 0, 0},
	} {
		if m, err := ParseMessage([]byte(line)); err != nil || m != want {
			t.Errorf("%s: %+v, %v", line, m, err)
		}
	}
}

func TestWhatAProgramCannotSayIsRefusedWithTheReason(t *testing.T) {
	for line, want := range map[string]string{
		``:                                     "not a line of JSON",
		`{`:                                    "not a line of JSON",
		`[1]`:                                  "not a line of JSON",
		`null`:                                 "version is missing",
		`{"kind":"message","text":"x"}`:        "version is missing",
		`{"v":2,"kind":"message"}`:             "version 2 is not spoken here",
		`{"v":1,"kind":"message","text":""}`:   "needs a text",
		`{"v":1,"kind":"message","text":"\n"}`: "needs a text",
		`{"v":1,"kind":"phase"}`:               "needs a name",
		`{"v":1,"kind":"progress","done":3}`:   "number of all steps",
		`{"v":1,"kind":"progress","done":4,"of":3}`:                "4 steps done of 3",
		`{"v":1,"kind":"progress","done":-1,"of":3}`:               "not a message",
		`{"v":1,"kind":"progress","done":1.5,"of":3}`:              "not a message",
		`{"v":1,"kind":"progress","done":1e3,"of":3}`:              "not a message",
		`{"v":1,"kind":"progress","done":1,"of":9007199254740993}`: "more than can be counted",
		`{"v":1,"kind":"dance"}`:                                   `"dance" is not something a program can say`,
		`{"v":1,"kind":"message","text":"x","shell":"rm"}`:         "unknown field",
		`{"v":1,"kind":"register","data":[1]}`:                     `"register" cannot be carried out`,
		`{"v":1,"kind":"answer"}`:                                  `"answer" cannot be carried out`,
		`{"v":1,"kind":"ask"}`:                                     `"ask" cannot be carried out`,
		`{"v":1,"kind":"saved"}`:                                   `"saved" cannot be carried out`,
	} {
		m, err := ParseMessage([]byte(line))
		if err == nil || !strings.Contains(err.Error(), want) || m != (Message{}) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v; want %q", line, m, err, want)
		}
	}
}

func TestALongTextIsCutBetweenCharacters(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 2000), strings.Repeat("x", 2000), strings.Repeat("漢", 2000)} {
		got := CleanText(text, MaxText)
		if len(got) > MaxText || len(got) < MaxText-6 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"message","text":"x"}`))
	f.Add([]byte(`{"v":1,"kind":"progress","done":3,"of":10}`))
	f.Add([]byte(`{"v":1,"kind":"phase","name":"\u0000"}`))
	f.Add([]byte(`{"v":1,"kind":"saved"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := ParseMessage(line)
		if err != nil {
			if m != (Message{}) {
				t.Errorf("%q: %+v, %v", line, m, err)
			}
			return
		}
		if len(m.Text) > MaxText || len(m.Name) > MaxPhaseName || m.Done > m.All || m.All > MaxSteps ||
			CleanText(m.Text, MaxText) != m.Text || CleanText(m.Name, MaxPhaseName) != m.Name {
			t.Errorf("%q: %+v", line, m)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := ParseMessage(again); err != nil || same != m {
			t.Errorf("%s: %+v, %v", again, same, err)
		}
	})
}
