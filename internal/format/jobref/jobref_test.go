package jobref

import (
	"reflect"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

func TestJobsAreNamedAsInSlurmAndByName(t *testing.T) {
	for text, want := range map[string][]Ref{
		"83":    {{Kind: Number, Text: "83", From: 83}},
		"80-83": {{Kind: Range, Text: "80-83", From: 80, To: 83}},
		"80,81": {{Kind: Number, Text: "80", From: 80}, {Kind: Number, Text: "81", From: 81}},
		"83_3":  {{Kind: Elements, Text: "83_3", Array: 83, Indices: []int{3}}},
		"83_[1-3,7],90": {{Kind: Elements, Text: "83_[1-3,7]", Array: 83, Indices: []int{1, 2, 3, 7}},
			{Kind: Number, Text: "90", From: 90}},
		"83_*":     {{Kind: Elements, Text: "83_*", Array: 83}},
		"prep":     {{Kind: Named, Text: "prep"}},
		"my-job_2": {{Kind: Named, Text: "my-job_2"}},
		"last":     {{Kind: Last, Text: "last"}},
		"all":      {{Kind: All, Text: "all"}},
	} {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s means %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestReferencesThatMeanNothingAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":          `job: expected ` + WantedForms,
		"80,,81":    `job: expected ` + WantedForms,
		"83-80":     `job "83-80": not a range of jobs, expected the smaller number first, such as 80-83`,
		"83_x":      `job "83_x": not elements of an array, expected such as 83_3, 83_[1-4,7] or 83_*`,
		"83_[4-1]":  `job "83_[4-1]": not elements of an array, expected such as 83_3, 83_[1-4,7] or 83_*`,
		"1-9999999": `job "1-9999999": not a range of jobs, expected the smaller number first, such as 80-83`,
	} {
		if _, err := Parse(text); !badinput.Is(err) || err.Error() != want {
			t.Errorf("%q is told as %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"83", "80-83", "83_[1-4]", "a,b", "_", "[", "83_[", "last,all"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if list, err := Parse(text); err == nil && len(list) == 0 {
			t.Errorf("%q means nothing", text)
		}
	})
}
