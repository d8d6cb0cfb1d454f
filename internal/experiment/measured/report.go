package measured

import (
	"strings"
	"text/template"
)

// RenderReport fills in a template of a report. What the template asks for and the data
// do not have is an error.
func RenderReport(text string, data any) (string, error) {
	t, err := template.New("report").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", err
	}
	return b.String(), nil
}
