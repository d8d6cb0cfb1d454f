package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// Where the socket cannot be used messages are lines of a file, of which each is taken once, when it is whole.
func TestMessagesInTheFileAreTakenOnce(t *testing.T) {
	dir := t.TempDir()
	f, err := MakeFolder(dir, dir, "mark")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Remove()
	l, err := f.Listen(clock.RealClock(), func(selfreport.Message) {})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var said []string
	read := func() []string {
		said = nil
		l.ReadMessages(func(m selfreport.Message) { said = append(said, string(m.Kind)+" "+m.Name+m.Text) })
		return said
	}
	if read(); len(said) > 0 {
		t.Errorf("without a file: %q", said)
	}
	if err := f.SetConfined(true); err != nil {
		t.Fatal(err)
	}
	send := func(m selfreport.Message) {
		t.Helper()
		if err := selfreport.SendMessage(f.Path(), m, 0); err != nil {
			t.Error(err)
		}
	}
	send(selfreport.Message{Kind: selfreport.MessagePhase, Name: "first"})
	send(selfreport.Message{Kind: selfreport.MessageProgress, Done: 2, All: 5})
	file, err := os.OpenFile(filepath.Join(f.Path(), selfreport.MessagesFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the test is over
	write := func(text string) {
		t.Helper()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("nonsense\n\x00{}\n" + `{"v":1,"kind":"message","te`)
	if got := read(); !slices.Equal(got, []string{"phase first"}) {
		t.Errorf("the first time: %q", got)
	}
	if r, ok := f.ReadReport(); !ok || r != (selfreport.Report{Done: 2, All: 5}) {
		t.Errorf("progress: %+v, %v", r, ok)
	}
	write("xt\":\"hello\"}\n")
	if err := f.SetConfined(true); err != nil { // it is started again there
		t.Fatal(err)
	}
	if got := read(); !slices.Equal(got, []string{"message hello"}) {
		t.Errorf("the second time: %q", got)
	}
	if got := read(); len(got) > 0 {
		t.Errorf("the third time: %q", got)
	}
	write(strings.Repeat("x", 3*maxFileRead) + "\n")
	send(selfreport.Message{Kind: selfreport.MessageText, Text: "after a line without an end"})
	for range 10 {
		if got := read(); len(got) == 1 && strings.HasPrefix(got[0], "message after") {
			break
		}
	}
	if len(said) != 1 {
		t.Error("what stands behind a line without an end is not read")
	}
	write(strings.Repeat(fmt.Sprintln("much"), maxFileSize/4))
	for range 2 * maxFileSize / maxFileRead {
		read()
	}
	send(selfreport.Message{Kind: selfreport.MessageText, Text: "too late"})
	if got := read(); len(got) > 0 {
		t.Errorf("behind all that is read: %q", got)
	}
	if err := f.SetConfined(false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(file.Name()); !os.IsNotExist(err) {
		t.Errorf("the file is there though the socket can be used: %v", err)
	}
}
