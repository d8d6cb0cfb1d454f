package gridengine

import (
	"fmt"
	"strings"
)

// globalConfig is the configuration of all hosts.
func (s *Cell) globalConfig() [][2]string {
	return [][2]string{
		{"execd_spool_dir", s.filePath("execd")},
		{"mailer", "/bin/true"},
		{"xterm", "/bin/true"},
		{"load_sensor", "none"},
		{"prolog", "none"},
		{"epilog", "none"},
		{"shell_start_mode", "unix_behavior"},
		{"login_shells", "sh,bash"},
		{"min_uid", "0"},
		{"min_gid", "0"},
		{"user_lists", "none"},
		{"xuser_lists", "none"},
		{"projects", "none"},
		{"xprojects", "none"},
		{"enforce_project", "false"},
		{"enforce_user", "auto"},
		{"load_report_time", "00:00:05"},
		{"max_unheard", "00:00:20"},
		{"reschedule_unknown", "00:00:00"},
		{"loglevel", "log_warning"},
		{"administrator_mail", "none"},
		{"set_token_cmd", "none"},
		{"pag_cmd", "none"},
		{"token_extend_time", "none"},
		{"shepherd_cmd", "none"},
		{"qmaster_params", "none"},
		{"execd_params", "none"},
		{"reporting_params", "accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00 " +
			"joblog=false sharelog=00:00:00"},
		{"finished_jobs", "100"},
		{"gid_range", s.groupIDs(len(s.config.Nodes))},
		{"qlogin_command", "builtin"},
		{"qlogin_daemon", "builtin"},
		{"rlogin_command", "builtin"},
		{"rlogin_daemon", "builtin"},
		{"rsh_command", "builtin"},
		{"rsh_daemon", "builtin"},
		{"max_aj_instances", "2000"},
		{"max_aj_tasks", "75000"},
		{"max_u_jobs", "0"},
		{"max_jobs", "0"},
		{"auto_user_oticket", "0"},
		{"auto_user_fshare", "0"},
		{"auto_user_default_project", "none"},
		{"auto_user_delete_time", "86400"},
		{"delegated_file_staging", "false"},
		{"reprioritize", "0"},
		{"jsv_url", "none"},
		{"jsv_allowed_mod", "ac,h,i,e,o,j,M,N,p,w"},
	}
}

// hostConfig is a host that runs jobs.
func hostConfig(name string) [][2]string {
	return [][2]string{
		{"hostname", name},
		{"load_scaling", "NONE"},
		{"complex_values", "NONE"},
		{"user_lists", "NONE"},
		{"xuser_lists", "NONE"},
		{"projects", "NONE"},
		{"xprojects", "NONE"},
		{"usage_scaling", "NONE"},
		{"report_variables", "NONE"},
	}
}

// parallelEnvironment is an environment of jobs with several processors: one host is filled
// after the other, or all are on one.
func parallelEnvironment(name, rule string) [][2]string {
	return [][2]string{
		{"pe_name", name},
		{"slots", "9999"},
		{"user_lists", "NONE"},
		{"xuser_lists", "NONE"},
		{"start_proc_args", "NONE"},
		{"stop_proc_args", "NONE"},
		{"allocation_rule", rule},
		{"control_slaves", "TRUE"},
		{"job_is_first_task", "FALSE"},
		{"urgency_slots", "min"},
		{"accounting_summary", "TRUE"},
		{"qsort_args", "NONE"},
	}
}

// folderOfJobs is where jobs have their temporary folders on a host. Hosts must not
// share it: a job has the same name there on all of its hosts, and each removes it
// when its part of the job has ended.
func (s *Cell) folderOfJobs(host string) string { return s.filePath("tmp/" + host) }

// queueConfig is the one queue, on all hosts.
func (s *Cell) queueConfig(names []string) [][2]string {
	slots, folders := "1", "/tmp"
	for _, n := range s.config.Nodes {
		slots += fmt.Sprintf(",[%s=%d]", n.Name(), n.CPUs)
		folders += fmt.Sprintf(",[%s=%s]", n.Name(), s.folderOfJobs(n.Name()))
	}
	rows := [][2]string{
		{"qname", Queue},
		{"hostlist", strings.Join(names, " ")},
		{"seq_no", "0"},
		{"load_thresholds", "NONE"},
		{"suspend_thresholds", "NONE"},
		{"nsuspend", "1"},
		{"suspend_interval", "00:05:00"},
		{"priority", "0"},
		{"min_cpu_interval", "00:05:00"},
		{"processors", "UNDEFINED"},
		{"qtype", "BATCH INTERACTIVE"},
		{"ckpt_list", "NONE"},
		{"pe_list", PE + " " + Threads},
		{"rerun", "FALSE"},
		{"slots", slots},
		{"tmpdir", folders},
		{"shell", "/bin/sh"},
		{"prolog", "NONE"},
		{"epilog", "NONE"},
		{"shell_start_mode", "unix_behavior"},
		{"starter_method", "NONE"},
		{"suspend_method", "NONE"},
		{"resume_method", "NONE"},
		{"terminate_method", "NONE"},
		{"notify", "00:00:60"},
		{"owner_list", "NONE"},
		{"user_lists", "NONE"},
		{"xuser_lists", "NONE"},
		{"subordinate_list", "NONE"},
		{"complex_values", "NONE"},
		{"projects", "NONE"},
		{"xprojects", "NONE"},
		{"calendar", "NONE"},
		{"initial_state", "default"},
	}
	for _, limit := range []string{"rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem"} {
		rows = append(rows, [2]string{"s_" + limit, "INFINITY"}, [2]string{"h_" + limit, "INFINITY"})
	}
	return rows
}
