package wire

// Input is a file, or a folder, that did not come with the job.
type Input struct {
	Name string `json:"name"`           // in the work folder
	From string `json:"from"`           // as its user named it
	Path string `json:"path,omitempty"` // where it is on this cluster, absolute or below the home folder; "": it is not
	Tree string `json:"tree,omitempty"` // else: in the depot, a folder that holds it alone, by whatever name
}
