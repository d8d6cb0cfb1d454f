package replica

import "testing"

func TestNobodyLearnsWhatOthersHave(t *testing.T) {
	var u UserTables
	u.TableOf(7).NoteUse(Record{Site: "leeds", Path: "/x", Size: 1, Tree: "t"})
	var again UserTables
	again.LoadJSON(u.EncodeJSON())
	if again.TableOf(7).ContentOf("leeds", "/x", 1, 0) != "t" || again.TableOf(8).ContentOf("leeds", "/x", 1, 0) != "" {
		t.Error("what is remembered of a user is lost, or told another")
	}
	if got := again.KeepRecent(1); len(got) != 1 || got[0] != "t" {
		t.Errorf("kept are %v", got)
	}
	again.LoadJSON("rubbish")
	if got := again.KeepRecent(2); len(got) != 1 {
		t.Errorf("after rubbish was read %v is kept", got)
	}
}
