package native_test

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/native"
)

// A program that saves itself when it is signalled is stopped, and goes on from its image.
func ExampleSignalMethod() {
	dir, err := os.MkdirTemp("", "godwit-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"/work", "/scratch", "/image"} {
		_ = os.Mkdir(dir+name, 0o700)
	}
	out, in, err := os.Pipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	const script = `trap 'echo 41 >state; exit 0' USR1
if [ -e state ]; then read n <state; echo "goes on after $n"; exit 5; fi
echo begins; while :; do sleep 0.01; done`
	p := &checkpoint.Program{Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ(), Dir: dir + "/work", Scratch: dir +
		"/scratch",
		Stdout: in, Stderr: os.Stderr, Mark: fmt.Sprintf("example-%d", os.Getpid()), Signal: "USR1", Files: []string{"state"}}
	ctx, lines := context.Background(), bufio.NewScanner(out)
	run, err := native.SignalMethod(native.Options{}).StartProgram(ctx, p, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	lines.Scan() // it has begun, and listens to the signal
	fmt.Println(lines.Text())
	err = run.SaveImage(ctx, dir+"/image", true, func() error { return nil })
	<-run.Done()
	fmt.Println("saved:", run.Result().Saved, err)
	if run, err = native.SignalMethod(native.Options{}).StartProgram(ctx, p, dir+"/image"); err != nil {
		fmt.Println(err)
		return
	}
	lines.Scan()
	fmt.Println(lines.Text())
	<-run.Done()
	fmt.Println("exit code", run.Result().Code)
	// Output:
	// begins
	// saved: true <nil>
	// goes on after 41
	// exit code 5
}
