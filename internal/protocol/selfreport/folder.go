package selfreport

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// MemoryFolder holds files that are never written to a disk. A program that bumps a counter on a page
// of a disk would at times wait for that disk.
const MemoryFolder = "/dev/shm"

// FolderPrefix begins the names of our folders in MemoryFolder, which others use too.
const FolderPrefix = "godwit-"

// FolderPath is the place in memory of the folder of an attempt. Its mark is nobody else's business.
func FolderPath(memory, mark string) string {
	sum := sha256.Sum256([]byte(mark))
	return filepath.Join(memory, FolderPrefix+hex.EncodeToString(sum[:12]))
}

// RemoveFolder removes what an agent that was killed left on this machine.
func RemoveFolder(mark string) {
	_ = os.RemoveAll(FolderPath(MemoryFolder, mark)) // later agents remove what is abandoned
}
