package batchtest

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// CheckVerbatim checks that names, arguments and variables full of what shells, and
// managers, take for their own arrive as they were written, and that nothing of
// them is carried out on the way.
func CheckVerbatim(t *testing.T, w *World) {
	t.Helper()
	trap := filepath.Join(w.Dir, "trap")
	nasty := []string{
		"$(touch " + trap + ")", "`touch " + trap + "`", "; touch " + trap + " #", "'; touch " + trap + "; '", `"; touch ` +
			trap + `; "`,
		"a\nb", "\n#SBATCH --output=" + trap + "\n", "#$ -o " + trap, "%j %x %%", `\\ \n \'`, "* ? [a-z] ~ {a,b}",
		"ünï → 漢字 🐦", "--help", "", " ", "\t", "%", "=", "|",
	}
	d := w.OpenBatch()
	a := w.AttemptFromLine("")
	a.Spec.Name = strings.Join(nasty, "")
	out := filepath.Join(w.Dir, "verbatim")
	line := `echo began >> "$NOTES"; for a in "$@"; do printf %s "$a" | od -An -v -tx1 | tr -d ' \n'; echo; done > "$OUT"; printf %s "$NASTY" | od -An -v -tx1 | tr -d ' \n' >> "$OUT"`
	a.Spec.Argv = append([]string{"/usr/bin/env", "NOTES=" + w.NotesFile(a), "OUT=" + out, "sh", "-c", line, "sh"},
		nasty...)
	all := strings.Join(nasty, "\n")
	a.Spec.Env["NASTY"] = all
	if err := d.StartAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	w.WaitUntil("the end to be heard", func() bool { return w.CountMessages(a, wire.Ended) == 1 })
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, s := range nasty {
		want.WriteString(hex.EncodeToString([]byte(s)) + "\n")
	}
	want.WriteString(hex.EncodeToString([]byte(all)))
	if string(got) != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("something of it was carried out")
	}
}
