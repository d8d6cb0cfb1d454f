// Package selfreport is what a program and the agent beside it say to each other: the folder that the
// program's environment names, the page of memory in it that both see, and the lines that go through
// its socket. It decides what stands where and what of it is believed: a program may write anything.
// It must not know who reads or writes, nor what follows from it. docs/program-protocol.md describes
// it for those who write a client.
package selfreport

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// FolderVariable names the folder in the environment of a program. Where it is not set nobody listens.
const FolderVariable = "GODWIT_FOLDER"

// What is in the folder.
const (
	PageFile   = "page"
	SocketFile = "socket"
	// MessagesFile is there where the socket cannot be used: lines are appended to it, and not answered.
	MessagesFile = "messages"
)

// PageVersion changes when a client that knows only what was there before would go wrong. New fields
// are no reason: what no one has written is 0.
const PageVersion = 1

// PageSize is that of the file, in bytes.
const PageSize = 4096

// pageMagic is how a page begins.
const pageMagic = "GODWITPG"

// Where the fields are. Each has 8 bytes, little endian, and is read and written whole; magic and
// version alone never change. The agent writes the first group, the program the second: no two of
// them write into one line of a processor's cache.
const (
	versionAt = 8  // 4 bytes: PageVersion, then 4 bytes: PageSize
	headerEnd = 16 // what is before it says that this is a page

	StopAt        = 64 // 0: go on; else the program is to save what it wants to keep and end
	CheckpointAt  = 72 // number of the checkpoint that is wanted; 0: none was yet
	OfferSizeAt   = 80 // processors that the program would have if it took the last offer
	OfferSerialAt = 88 // number of that offer, written after its size; 0: none was made
	SizeAt        = 96 // processors that the program has
	// SizeSerialAt is the number of the last offer whose answer that includes, written after the size. Until it is, a
	// program that has given some back has no more than it said.
	SizeSerialAt = 104

	StepsDoneAt = 128
	StepsAllAt  = 136 // 0: not known, nothing is reported
	PhaseAt     = 144 // counts the phases that the program has begun; for people who look at the page

	AcceptSizeAt   = 152 // processors that the program takes of the offer AcceptSerial, or keeps of it
	AcceptSerialAt = 160 // number of the offer that it has answered last, written after the size
	WantSizeAt     = 168 // processors that the program wants to have; fewer than it has: the others are free to go
	WantSerialAt   = 176 // counts how often it has said so, written after the size
)

// MaxSteps is the largest number of steps: up to it every one has a floating-point number of its own.
const MaxSteps = 1 << 53

// Report is what a program has written into its page.
type Report struct {
	Done, All uint64 // Done is not more than All; All is at least 1
}

// SizeReport is what a program has written about its size.
type SizeReport struct {
	Accept, AcceptSerial uint64
	Want, WantSerial     uint64
}

// ReadSizes is what the program says about its size. What it says may make no sense.
func ReadSizes(page []byte) SizeReport {
	if len(page) < PageSize {
		return SizeReport{}
	}
	return SizeReport{AcceptSerial: FieldValue(page[AcceptSerialAt:]), Accept: FieldValue(page[AcceptSizeAt:]),
		WantSerial: FieldValue(page[WantSerialAt:]), Want: FieldValue(page[WantSizeAt:])}
}

// NewPage is a page on which nobody has written yet.
func NewPage() []byte {
	page := make([]byte, PageSize)
	copy(page, pageMagic)
	binary.LittleEndian.PutUint32(page[versionAt:], PageVersion)
	binary.LittleEndian.PutUint32(page[versionAt+4:], PageSize)
	return page
}

// CheckPage says whether the bytes are a page that can be used.
func CheckPage(page []byte) error {
	if len(page) < PageSize || string(page[:len(pageMagic)]) != pageMagic {
		return errors.New("not a page of godwit")
	}
	if v := binary.LittleEndian.Uint32(page[versionAt:]); v != PageVersion {
		return fmt.Errorf("a page of version %d; this is for version %d", v, PageVersion)
	}
	if n := binary.LittleEndian.Uint32(page[versionAt+4:]); n != PageSize {
		return fmt.Errorf("a page of %d bytes, not %d", n, PageSize)
	}
	return nil
}

// ReadReport is what the program reports; false: nothing, or what makes no sense. The magic need not
// be there: who made the page knows what it is, and the program may have written over it.
func ReadReport(page []byte) (Report, bool) {
	if len(page) < PageSize {
		return Report{}, false
	}
	r := Report{Done: FieldValue(page[StepsDoneAt:]), All: FieldValue(page[StepsAllAt:])}
	if r.All == 0 || r.All > MaxSteps || r.Done > MaxSteps {
		return Report{}, false
	}
	r.Done = min(r.Done, r.All) // a bump too many, or between the writing of the two
	return r, true
}

// FieldValue is the number that the first 8 bytes are.
func FieldValue(text []byte) uint64 { return binary.LittleEndian.Uint64(text) }

// FieldBytes is a number as it stands in the page.
func FieldBytes(value uint64) []byte { return binary.LittleEndian.AppendUint64(nil, value) }
