package remote

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
)

// sendSandbox sends the sandbox, or what is missing of it, beside everything else.
func (d *Driver) sendSandbox(s *session) {
	box := d.bin.sandboxBinary()
	if box == nil {
		return
	}
	var err error
	for range talk.MaxEquipTries {
		if err = d.equipOnce(s, box); err == nil || s.link.HasEnded() {
			return // what has come stays for the next connection
		}
	}
	d.log.Warn("the sandbox could not be brought", "error", err)
}

func (d *Driver) equipOnce(s *session, box *talk.Binary) error {
	stream, err := s.link.OpenStream()
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	f, err := os.Open(d.bin.sandbox)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	a := new(talk.Answer)
	if err = talk.SendMessage(stream, &talk.Request{Do: talk.Equip, Binary: box}); err == nil {
		err = talk.ReceiveMessage(stream, a)
	}
	if err = errors.Join(err, a.ToError()); err != nil || a.Have == box.Size {
		return err
	}
	d.log.Info("the sandbox is brought there", "host", d.opt.SSH, "bytes", box.Size-a.Have)
	if _, err := f.Seek(a.Have, io.SeekStart); err != nil {
		return err
	}
	z, err := zstd.NewWriter(stream, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if _, err = io.Copy(z, io.LimitReader(f, box.Size-a.Have)); err == nil {
		err = z.Close()
	}
	a = new(talk.Answer)
	if err == nil {
		err = talk.ReceiveMessage(stream, a)
	}
	if err == nil {
		err = a.ToError()
	}
	if err != nil {
		return fmt.Errorf("sending %s: %w", sandboxName, err)
	}
	return nil
}

// sandboxBinary is the sandbox that is to be brought; nil if there is none.
func (b *binaries) sandboxBinary() *talk.Binary {
	b.mu.Lock()
	defer b.mu.Unlock()
	info, err := os.Stat(b.sandbox)
	if b.sandbox == "" || err != nil || b.sums[sandboxName] == "" {
		return nil
	}
	return &talk.Binary{Sum: b.sums[sandboxName], Size: info.Size()}
}
