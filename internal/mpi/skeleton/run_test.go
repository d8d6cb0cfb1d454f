package skeleton

import "testing"

func TestAHostThatCannotBeReachedIsNamedWithoutGuesses(t *testing.T) {
	const unknown = "ssh: Could not resolve hostname h2: Name or service not known"
	guesses := "-----\nORTE was unable to reliably start one or more daemons.\n" +
		"* lack of authority\nWe apologize for the problem.\n-----\n"
	for text, want := range map[string]string{
		guesses + unknown + "\r\n" + guesses + unknown + "\n":  unknown,
		"alice@h3: Permission denied (publickey).\n" + guesses: "alice@h3: Permission denied (publickey).",
		"-----\nout of memory\n-----\n":                        "out of memory",
	} {
		if got := failureCause(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
