/* A multigrid solver with the communication of NAS MG: a cube without borders is spread
 * over ranks along y and z; on each of several grids, each half as fine as the one
 * before, neighbours swap the faces of their parts: long messages on the fine grids,
 * short ones on the coarse. On four ranks four pairs talk.
 *
 * SIZE is the points of an edge, a power of two. What is left over must shrink in every
 * iteration. */
#include "kernel.h"

enum { LEVELS = 12 };

struct grid {
    int nx, ny, nz; /* our points */
    double diagonal;
    double *u, *f, *r;
};

static int py, pz, iy, iz;
static struct grid grids[LEVELS];
static double *out, *in;

static size_t at(const struct grid *g, int x, int y, int z)
{
    return (((size_t)x + 1) * (g->ny + 2) + y + 1) * (g->nz + 2) + z + 1;
}

static int neighbour(int dy, int dz)
{
    return (iy + dy + py) % py * pz + (iz + dz + pz) % pz;
}

/* face copies one layer into a buffer or back. */
static int face(struct grid *g, double *a, int axis, int layer, double *buf, int back)
{
    int k = 0, many = axis == 1 ? g->nz : g->ny;
    for (int x = 0; x < g->nx; x++)
        for (int i = 0; i < many; i++, k++) {
            double *p = a + (axis == 1 ? at(g, x, layer, i) : at(g, x, i, layer));
            *(back ? p : buf + k) = back ? buf[k] : *p;
        }
    return k;
}

/* borders brings the borders up to date. */
static void borders(struct grid *g, double *a)
{
    for (int axis = 1; axis <= 2; axis++) {
        int most = (axis == 1 ? g->ny : g->nz) - 1;
        for (int way = -1; way <= 1; way += 2) {
            int n = face(g, a, axis, way < 0 ? 0 : most, out, 0);
            int to = axis == 1 ? neighbour(way, 0) : neighbour(0, way), from = axis == 1 ? neighbour(-way, 0) : neighbour(0, -way);
            if (to == rank)
                memcpy(in, out, (size_t)n * sizeof *in);
            else
                swap(out, in, n, to, from, axis);
            face(g, a, axis, way < 0 ? most + 1 : -1, in, 1);
        }
    }
    for (int y = 0; y < g->ny; y++)
        for (int z = 0; z < g->nz; z++) {
            a[at(g, -1, y, z)] = a[at(g, g->nx - 1, y, z)];
            a[at(g, g->nx, y, z)] = a[at(g, 0, y, z)];
        }
}

/* left_over is r = f - A u, with A of six neighbours and a little more than six on the
 * diagonal. */
static double left_over(struct grid *g)
{
    double sum = 0;
    size_t sx = (size_t)(g->ny + 2) * (g->nz + 2), sy = (size_t)g->nz + 2;
    borders(g, g->u);
    for (int x = 0; x < g->nx; x++)
        for (int y = 0; y < g->ny; y++)
            for (int z = 0; z < g->nz; z++) {
                size_t i = at(g, x, y, z);
                const double *u = g->u;
                g->r[i] = g->f[i] - g->diagonal * u[i] + u[i - 1] + u[i + 1] + u[i - sy] + u[i + sy] + u[i - sx] + u[i + sx];
                sum += g->r[i] * g->r[i];
            }
    return sum;
}

static void smooth(struct grid *g, int times)
{
    double step = 0.85 / g->diagonal;
    while (times-- > 0) {
        left_over(g);
        for (int x = 0; x < g->nx; x++)
            for (int y = 0; y < g->ny; y++)
                for (int z = 0; z < g->nz; z++)
                    g->u[at(g, x, y, z)] += step * g->r[at(g, x, y, z)];
    }
}

/* cycle goes down to the coarsest grid and up again. A point of the next grid stands for
 * eight of this: what is left over there is added up, and divided by four, which is how
 * many pairs of points meet where two of the eights do, so that A is the same but for the
 * diagonal. */
static void cycle(int level, int levels)
{
    struct grid *g = &grids[level], *h = g + 1;
    smooth(g, level + 1 == levels ? 8 : 2);
    if (level + 1 == levels)
        return;
    left_over(g);
    memset(h->u, 0, (size_t)(h->nx + 2) * (h->ny + 2) * (h->nz + 2) * sizeof *h->u);
    for (int x = 0; x < g->nx; x++)
        for (int y = 0; y < g->ny; y++)
            for (int z = 0; z < g->nz; z++)
                if (x % 2 == 0 && y % 2 == 0 && z % 2 == 0)
                    h->f[at(h, x / 2, y / 2, z / 2)] = g->r[at(g, x, y, z)] / 4;
                else
                    h->f[at(h, x / 2, y / 2, z / 2)] += g->r[at(g, x, y, z)] / 4;
    cycle(level + 1, levels);
    for (int x = 0; x < g->nx; x++)
        for (int y = 0; y < g->ny; y++)
            for (int z = 0; z < g->nz; z++)
                g->u[at(g, x, y, z)] += h->u[at(h, x / 2, y / 2, z / 2)];
    smooth(g, 2);
}

static double norm(void)
{
    double own = left_over(&grids[0]), all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all);
}

int main(int argc, char **argv)
{
    int n = 64, iterations = 20, levels = 0, right = 1;
    begin(&argc, &argv, &n, 8, &iterations);
    for (py = 1, pz = ranks; pz > py && pz % 2 == 0; py *= 2, pz /= 2)
        ;
    refuse((n & (n - 1)) || (ranks & (ranks - 1)) || n < 4 * pz, "size and ranks must be powers of two, the size four times the ranks along an edge");
    iy = rank / pz, iz = rank % pz;
    for (int m = n; m >= 4 && m >= 2 * pz && levels < LEVELS; m /= 2, levels++) {
        struct grid *g = &grids[levels];
        g->nx = m, g->ny = m / py, g->nz = m / pz;
        g->diagonal = 6 + 0.05 * (1 << levels);
        size_t all = (size_t)(g->nx + 2) * (g->ny + 2) * (g->nz + 2) * sizeof(double);
        g->u = room(all), g->f = room(all), g->r = room(all);
    }
    out = room((size_t)n * n * sizeof *out), in = room((size_t)n * n * sizeof *in);
    struct grid *g = &grids[0];
    for (int x = 0; x < g->nx; x++)
        for (int y = 0; y < g->ny; y++)
            for (int z = 0; z < g->nz; z++)
                g->f[at(g, x, y, z)] = (x * 31 + (iy * g->ny + y) * 17 + (iz * g->nz + z) * 7) % 13 - 6;
    double since = MPI_Wtime(), before = norm(), left = before;
    for (int it = 0; it < iterations; it++) {
        begin_round();
        cycle(0, levels);
        left = norm();
        right = right && (left < before || left < 1e-9);
        before = left;
    }
    return finish("mg", n, iterations, left, right, since);
}
