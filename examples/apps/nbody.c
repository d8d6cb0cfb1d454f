/* nbody N [STEPS]: N bodies that attract each other, 10 steps.
 *
 * It checks itself: forces cancel, so the centre must not begin to move. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	double x, y, z, vx, vy, vz, mass;
} body;

static void step(body *b, long n, double dt) {
	for (long i = 0; i < n; i++) {
		double ax = 0, ay = 0, az = 0;
		for (long j = 0; j < n; j++) {
			double dx = b[j].x - b[i].x, dy = b[j].y - b[i].y, dz = b[j].z - b[i].z;
			double d2 = dx * dx + dy * dy + dz * dz + 1e-3;
			double f = b[j].mass / (d2 * sqrt(d2));
			ax += f * dx;
			ay += f * dy;
			az += f * dz;
		}
		b[i].vx += dt * ax;
		b[i].vy += dt * ay;
		b[i].vz += dt * az;
	}
	for (long i = 0; i < n; i++) {
		b[i].x += dt * b[i].vx;
		b[i].y += dt * b[i].vy;
		b[i].z += dt * b[i].vz;
	}
}

int main(int argc, char **argv) {
	long n = argc >= 2 && argc <= 3 ? atol(argv[1]) : 0, steps = argc == 3 ? atol(argv[2]) : 10;
	if (n < 1 || n > 10000000 || steps < 1) {
		fprintf(stderr, "usage: nbody N [STEPS] (N 1 to 10000000)\n");
		return 2;
	}
	body *b = calloc(n, sizeof *b);
	if (!b) {
		fprintf(stderr, "nbody: no memory for %ld bodies\n", n);
		return 1;
	}
	for (long i = 0; i < n; i++) {
		b[i].x = (double)(i * 7919 % 1009) / 1009;
		b[i].y = (double)(i * 104729 % 2003) / 2003;
		b[i].z = (double)(i * 1299709 % 4001) / 4001;
		b[i].mass = 1.0 / n;
	}
	for (long s = 0; s < steps; s++)
		step(b, n, 1e-3);
	double px = 0, py = 0, pz = 0;
	for (long i = 0; i < n; i++) {
		px += b[i].mass * b[i].vx;
		py += b[i].mass * b[i].vy;
		pz += b[i].mass * b[i].vz;
	}
	printf("nbody %ld: the centre moves at %g\n", n, sqrt(px * px + py * py + pz * pz));
	return sqrt(px * px + py * py + pz * pz) > 1e-9;
}
