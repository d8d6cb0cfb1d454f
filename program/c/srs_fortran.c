/* The names of srs.h as Fortran compilers write them: small letters, an underscore, the lengths of
 * texts last. */
#include "srs_parts.h"

#include <string.h>

static void copy_name(char *to, const char *name, size_t n)
{
	while (n > 0 && name[n - 1] == ' ')
		n--;
	n = n > srs_max_name ? srs_max_name + 1 : n; /* too long stays too long */
	memcpy(to, name, n);
	to[n] = '\0';
}

void srs_init_(int *ierr) { *ierr = SRS_Init(); }
void srs_finish_(int *ierr) { *ierr = SRS_Finish(); }
void srs_restart_value_(int *flag) { *flag = SRS_Restart_Value(); }
void srs_check_stop_(int *flag) { *flag = SRS_Check_Stop(); }
void srs_storemap_(int *ierr) { *ierr = SRS_StoreMap(); }
void srs_progress_(const int64_t *done, const int64_t *total, int *ierr) { *ierr = SRS_Progress(*done, *total); }
void srs_resize_value_(int *procs) { *procs = SRS_Resize_Value(); }

void srs_register_(const char *name, void *address, const int *type, const int *dimensions, const int64_t *shape,
		   const int64_t *dist, int *ierr, size_t n)
{
	char text[srs_max_name + 2];
	SRS_Distribution d = {.kind = dist[0], .block = {dist[1], dist[2]}, .grid = {dist[3], dist[4]},
			      .by_rows = dist[5], .leading = dist[6], .fortran = 1};
	copy_name(text, name, n);
	*ierr = SRS_Register(text, address, *type, *dimensions, shape, &d);
}

void srs_read_(const char *name, void *address, int *ierr, size_t n)
{
	char text[srs_max_name + 2];
	copy_name(text, name, n);
	*ierr = SRS_Read(text, address, NULL, NULL);
}
