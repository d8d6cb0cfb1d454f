package checkpoint

// SelfSaver is a Run whose program decides by itself when it is saved, as one
// that exits with code 85 does. Not every Run is one.
type SelfSaver interface {
	Run
	// SelfSaved delivers a value each time the program has saved itself. The
	// program then stands still until SaveImage takes what it wrote, at once, or
	// SkipSave is called. It is never made to wait for somebody who has not called
	// SelfSaved: then it runs on by itself.
	SelfSaved() <-chan struct{}
	// SkipSave lets a program that has saved itself, and stands still, run on
	// without an image of it being taken. Otherwise it does nothing.
	SkipSave()
}
