package app_test

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sim/app"
)

func TestAnOfferIsAcceptedAsFarAsTheApplicationCanUseIt(t *testing.T) {
	for _, c := range []struct {
		a                         app.Acceptance
		size, offered, most, want int
	}{
		{app.Any, 2, 10, 46, 10},
		{app.Any, 40, 10, 46, 6},
		{app.Any, 46, 10, 46, 0},
		{app.Any, 50, 10, 46, 0},
		{app.Any, 2, 0, 46, 0},
		{app.Any, 2, -4, 46, 0},
		{app.PowersOfTwo, 2, 1, 32, 0},
		{app.PowersOfTwo, 2, 2, 32, 2},
		{app.PowersOfTwo, 2, 5, 32, 2},
		{app.PowersOfTwo, 2, 6, 32, 6},
		{app.PowersOfTwo, 2, 100, 32, 30},
		{app.PowersOfTwo, 2, 100, 46, 30},
		{app.PowersOfTwo, 32, 100, 46, 0},
	} {
		if got := c.a.AcceptGrow(c.size, c.offered, c.most); got != c.want {
			t.Errorf("%v of size %d, at most %d, offered %d: accepts %d, want %d", c.a, c.size, c.most, c.offered, got, c.want)
		}
	}
}

func TestAShrinkGivesBackWhatCannotBeUsedToo(t *testing.T) {
	for _, c := range []struct {
		a                                   app.Acceptance
		size, wanted, least, accepted, also int
	}{
		{app.Any, 8, 3, 2, 3, 0},
		{app.Any, 8, 7, 2, 6, 0},
		{app.Any, 2, 1, 2, 0, 0},
		{app.Any, 8, 0, 2, 0, 0},
		{app.PowersOfTwo, 8, 3, 2, 3, 1}, // of 5 it could use only 4
		{app.PowersOfTwo, 8, 4, 2, 4, 0},
		{app.PowersOfTwo, 8, 5, 2, 5, 1},
		{app.PowersOfTwo, 8, 100, 2, 6, 0},
		{app.PowersOfTwo, 8, 5, 3, 4, 0}, // 2 would be below its least size
		{app.PowersOfTwo, 4, 1, 3, 0, 0},
		{app.PowersOfTwo, 2, 1, 2, 0, 0},
	} {
		accepted, also := c.a.AcceptShrink(c.size, c.wanted, c.least)
		if accepted != c.accepted || also != c.also {
			t.Errorf("%v of size %d, at least %d, to give up %d: %d and %d more, want %d and %d",
				c.a, c.size, c.least, c.wanted, accepted, also, c.accepted, c.also)
		}
	}
}

func TestAcceptedSizesStayWithinTheirBoundsAndUsable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom([]app.Acceptance{app.Any, app.PowersOfTwo}).Draw(t, "acceptance")
		least := rapid.IntRange(1, 64).Draw(t, "least")
		most := rapid.IntRange(2*least, 256).Draw(t, "most")
		size := rapid.IntRange(least, most).Draw(t, "size")
		if a == app.PowersOfTwo {
			size = 1 << (bits.Len(uint(most)) - 1)
			for size/2 >= least && rapid.Bool().Draw(t, "smaller") {
				size /= 2
			}
		}
		n := rapid.IntRange(-5, 300).Draw(t, "n")

		grown := a.AcceptGrow(size, n, most)
		checkSize(t, a, size+grown, least, most)
		if grown < 0 || grown > max(n, 0) {
			t.Fatalf("accepted %d of %d offered", grown, n)
		}
		accepted, also := a.AcceptShrink(size, n, least)
		checkSize(t, a, size-accepted-also, least, most)
		if accepted < 0 || also < 0 || accepted > max(n, 0) || also > 0 && accepted < n {
			t.Fatalf("gave up %d of %d wanted, and %d more", accepted, n, also)
		}
		if a == app.Any && accepted != max(0, min(n, size-least)) {
			t.Fatalf("gave up %d of %d wanted", accepted, n)
		}
	})
}

func checkSize(t *rapid.T, a app.Acceptance, size, least, most int) {
	if size < least || size > most || a.UsableSize(size) != size {
		t.Fatalf("%v: size %d, allowed %d to %d", a, size, least, most)
	}
}

func TestAnAcceptanceIsReadByName(t *testing.T) {
	for _, want := range []app.Acceptance{app.Any, app.PowersOfTwo} {
		if got, err := app.ParseAcceptance("accept", want.String()); err != nil || got != want {
			t.Errorf("%v read as %v, %v", want, got, err)
		}
	}
	_, err := app.ParseAcceptance("accept", "even")
	if !badinput.Is(err) || err.Error() != `accept "even": expected any or powers-of-two` {
		t.Error(err)
	}
}
