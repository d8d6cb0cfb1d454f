// Package program lets a program that Godwit runs report how far it is, and see what is wanted of it:
//
//	godwit := program.OpenLink()
//	for step := range uint64(1000) {
//		godwit.SetSteps(step, 1000)
//		if godwit.StopWanted() {
//			save()
//			return
//		}
//	}
//
// Looking and reporting cost a few nanoseconds, never wait for anybody and cannot fail. Without Godwit
// every call does nothing. It must not know the agent at the other end: docs/program-protocol.md
// describes what lies between.
package program

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
)

// wordBytes is the size of a field of the page.
const wordBytes = 8

// Link is what a program has of its agent. Several goroutines may use it.
type Link struct {
	dir   string   // with the socket; "": nobody listens, or this is not the rank that speaks
	read  []uint64 // the page, or one of our own where there is none
	write []uint64 // likewise
	taken atomic.Uint64
}

// OpenLink is the link to the agent of this program. Of the ranks of an MPI program only rank 0 reports;
// the others look.
func OpenLink() *Link {
	page := openPage(os.Getenv(selfreport.FolderVariable))
	l := &Link{read: page}
	if page == nil {
		l.read = make([]uint64, selfreport.PageSize/wordBytes)
	}
	if l.write = l.read; isOtherRank() {
		l.write = make([]uint64, selfreport.PageSize/wordBytes)
	} else if page != nil {
		l.dir = os.Getenv(selfreport.FolderVariable)
	}
	l.taken.Store(l.load(selfreport.CheckpointAt))
	return l
}

// HasAgent says whether somebody listens to what is reported.
func (l *Link) HasAgent() bool { return l.dir != "" }

// isOtherRank says whether this is a rank of an MPI program, and not the first.
func isOtherRank() bool {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"} {
		if rank := os.Getenv(name); rank != "" {
			return rank != "0"
		}
	}
	return false
}

// openPage maps the page of a folder; nil if there is none that can be used.
func openPage(dir string) []uint64 {
	if !filepath.IsAbs(dir) {
		return nil
	}
	file, err := os.OpenFile(filepath.Join(dir, selfreport.PageFile), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // the mapping stays
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() < selfreport.PageSize {
		return nil
	}
	page, err := syscall.Mmap(int(file.Fd()), 0, selfreport.PageSize, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	if selfreport.CheckPage(page) != nil {
		_ = syscall.Munmap(page) // nobody uses it
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(page))), selfreport.PageSize/wordBytes)
}

func (l *Link) load(at int) uint64 { return atomic.LoadUint64(&l.read[at/wordBytes]) }

func (l *Link) store(at int, value uint64) { atomic.StoreUint64(&l.write[at/wordBytes], value) }

// SetSteps reports that so many steps of all are done. What a step is, and that they take about the same
// time, is up to the program.
func (l *Link) SetSteps(done, all uint64) {
	all = min(all, selfreport.MaxSteps)
	if atomic.LoadUint64(&l.write[selfreport.StepsAllAt/wordBytes]) != all {
		l.store(selfreport.StepsDoneAt, 0) // never the steps of the one with the number of the other
		l.store(selfreport.StepsAllAt, all)
	}
	l.store(selfreport.StepsDoneAt, min(done, all))
}

// AddSteps reports that so many more steps are done. SetSteps has said how many there are.
func (l *Link) AddSteps(n uint64) { atomic.AddUint64(&l.write[selfreport.StepsDoneAt/wordBytes], n) }

// StopWanted says whether the program is to save what it wants to keep and end: it is cancelled, or moved.
func (l *Link) StopWanted() bool { return l.load(selfreport.StopAt) != 0 }

// CheckpointWanted says, once for each checkpoint that is ordered or due, that the program is to save itself.
func (l *Link) CheckpointWanted() bool {
	number := l.load(selfreport.CheckpointAt)
	return number != l.taken.Load() && l.taken.Swap(number) != number
}

// Size is how many processors the program has: those that it was started with, until more are granted or it has given
// some back. 0: nobody has said.
func (l *Link) Size() int {
	known, size := l.load(selfreport.SizeSerialAt), l.load(selfreport.SizeAt)
	if atomic.LoadUint64(&l.write[selfreport.AcceptSerialAt/wordBytes]) > known { // what it has given back is gone already
		size = min(size, atomic.LoadUint64(&l.write[selfreport.AcceptSizeAt/wordBytes]))
	}
	return int(size)
}

// OfferedSize is how many processors the program could have, or is to keep, if that is to change: it answers with
// AcceptSize. 0: nothing is offered.
func (l *Link) OfferedSize() int {
	serial := l.load(selfreport.OfferSerialAt)
	if serial == 0 || serial == atomic.LoadUint64(&l.write[selfreport.AcceptSerialAt/wordBytes]) {
		return 0
	}
	return int(l.load(selfreport.OfferSizeAt))
}

// AcceptSize answers an offer: so many processors the program will use, when they are granted (see Size), or uses no
// more than so many from now on.
func (l *Link) AcceptSize(procs int) {
	l.store(selfreport.AcceptSizeAt, uint64(max(procs, 0)))
	l.store(selfreport.AcceptSerialAt, l.load(selfreport.OfferSerialAt))
}

// WantSize says how many processors the program wants to have: more may be offered, fewer are given back at once.
func (l *Link) WantSize(procs int) {
	l.store(selfreport.WantSizeAt, uint64(max(procs, 0)))
	atomic.AddUint64(&l.write[selfreport.WantSerialAt/wordBytes], 1)
}

// BeginPhase reports that a phase of that name begins.
func (l *Link) BeginPhase(name string) {
	atomic.AddUint64(&l.write[selfreport.PhaseAt/wordBytes], 1)
	l.sendMessage(selfreport.Message{Kind: selfreport.MessagePhase,
		Name: selfreport.CleanText(name, selfreport.MaxPhaseName)})
}

// SendMessage has the user of the job see a line.
func (l *Link) SendMessage(text string) {
	l.sendMessage(selfreport.Message{Kind: selfreport.MessageText,
		Text: selfreport.CleanText(text, selfreport.MaxText)})
}

// sendMessage waits for no answer: the work of the program comes first.
func (l *Link) sendMessage(m selfreport.Message) {
	if l.dir != "" {
		_ = selfreport.SendMessage(l.dir, m, 0) // who is not there need not hear it
	}
}
