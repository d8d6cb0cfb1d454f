/* Reports and looks, for the tests: all that the library can do. With an argument it runs until it is to stop. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "godwit.h"

int main(int argc, char **argv)
{
	(void)argv;
	godwit_set_steps(1, 8);
	godwit_add_steps(2);
	godwit_add_steps(-5);
	godwit_begin_phase("so\"lve");
	godwit_send_message("half\n\"done\" \\ é");
	printf("agent %d checkpoint %d stop %d\n", godwit_has_agent(), godwit_checkpoint_wanted(), godwit_stop_wanted());
	fflush(stdout);
	if (argc > 1) {
		signal(SIGTERM, SIG_IGN);
		printf("ready\n");
		fflush(stdout);
		while (!godwit_stop_wanted())
			usleep(10000);
		printf("stop seen\n");
	}
	return 0;
}
