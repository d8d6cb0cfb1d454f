/* Successive over-relaxation with the communication of NAS LU: columns of a cube are
 * spread over a square of ranks. A sweep goes plane by plane from one corner to the
 * other: a rank needs the edges of its two neighbours in a plane before it can begin
 * with it, so the ranks work in a pipeline of many small messages. Once an iteration
 * whole faces are swapped. On four ranks four pairs talk: the sides of the square.
 *
 * SIZE is the points of an edge. What is left over must shrink in every iteration. */
#include "kernel.h"

enum { PARTS = 5 };
static const double omega = 1.2;

static int n, px, py, ix, iy, mx, my; /* points; ranks along x and y; our place; our points */
static double *u, *f;                 /* [x][y][z][part], with a border */

static double *at(double *a, int x, int y, int z)
{
    return a + ((((size_t)x + 1) * (my + 2) + y + 1) * (n + 2) + z + 1) * PARTS;
}

static int neighbour(int dx, int dy)
{
    int x = ix + dx, y = iy + dy;
    return x < 0 || x >= px || y < 0 || y >= py ? MPI_PROC_NULL : x * py + y;
}

/* edge copies the points of a line of plane z, or of a whole face (z < 0), into a buffer
 * or back. dx, dy: the side on which it is; out: beyond our points. */
static int edge(int dx, int dy, int z, int out, double *buf, int back)
{
    int k = 0, many = dx ? my : mx;
    for (int i = 0; i < many; i++)
        for (int c = z < 0 ? 0 : z; c < (z < 0 ? n : z + 1); c++, k += PARTS) {
            int x = dx == 0 ? i : dx < 0 ? -out : mx - 1 + out, y = dy == 0 ? i : dy < 0 ? -out : my - 1 + out;
            double *p = at(u, x, y, c);
            memcpy(back ? p : buf + k, back ? buf + k : p, PARTS * sizeof *p);
        }
    return k;
}

static void take(int dx, int dy, int z, double *buf)
{
    int from = neighbour(dx, dy);
    if (from == MPI_PROC_NULL)
        return;
    int length = (dx ? my : mx) * (z < 0 ? n : 1) * PARTS;
    MPI_Recv(buf, length, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    edge(dx, dy, z, 1, buf, 1);
}

static void give(int dx, int dy, int z, double *buf)
{
    int to = neighbour(dx, dy);
    if (to == MPI_PROC_NULL)
        return;
    int length = edge(dx, dy, z, 0, buf, 0);
    MPI_Send(buf, length, MPI_DOUBLE, to, 1, MPI_COMM_WORLD);
    sent[to] += 8LL * length;
}

static double relax(int x, int y, int z, double by)
{
    double *p = at(u, x, y, z), *g = at(f, x, y, z), left = 0;
    double *l = at(u, x - 1, y, z), *r = at(u, x + 1, y, z), *d = at(u, x, y - 1, z), *t = at(u, x, y + 1, z);
    for (int c = 0; c < PARTS; c++) {
        double over = g[c] - (6 + c) * p[c] + l[c] + r[c] + d[c] + t[c] + p[c - PARTS] + p[c + PARTS];
        p[c] += by * over / (6 + c);
        left += over * over;
    }
    return left;
}

/* sweep goes through the planes, forward (1) or back (-1). */
static void sweep(int way, double *buf)
{
    for (int s = 0; s < n; s++) {
        int z = way > 0 ? s : n - 1 - s;
        take(-way, 0, z, buf);
        take(0, -way, z, buf);
        for (int i = 0; i < mx; i++)
            for (int j = 0; j < my; j++)
                relax(way > 0 ? i : mx - 1 - i, way > 0 ? j : my - 1 - j, z, omega);
        give(way, 0, z, buf);
        give(0, way, z, buf);
    }
}

/* faces brings the borders up to date for all planes. */
static void faces(double *buf, double *buf2)
{
    static const int ways[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    for (int i = 0; i < 4; i++) {
        int dx = ways[i][0], dy = ways[i][1], to = neighbour(dx, dy), from = neighbour(-dx, -dy);
        int out = edge(dx, dy, -1, 0, buf, 0), in = (dx ? my : mx) * n * PARTS;
        MPI_Sendrecv(buf, to == MPI_PROC_NULL ? 0 : out, MPI_DOUBLE, to, 2, buf2, in, MPI_DOUBLE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (to != MPI_PROC_NULL)
            sent[to] += 8LL * out;
        if (from != MPI_PROC_NULL)
            edge(-dx, -dy, -1, 1, buf2, 1);
    }
}

static double left_over(void)
{
    double own = 0, all;
    for (int x = 0; x < mx; x++)
        for (int y = 0; y < my; y++)
            for (int z = 0; z < n; z++)
                own += relax(x, y, z, 0);
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all);
}

int main(int argc, char **argv)
{
    int iterations = 20, right = 1;
    n = 64;
    begin(&argc, &argv, &n, 8, &iterations);
    for (px = 1, py = ranks; py > px && py % 2 == 0; px *= 2, py /= 2)
        ;
    refuse(px * py != ranks || n / px < 1 || n / py < 1, "too many of them for this size");
    n -= n % (px * py);
    ix = rank / py, iy = rank % py, mx = n / px, my = n / py;
    size_t all = (size_t)(mx + 2) * (my + 2) * (n + 2) * PARTS, face = (size_t)n * n * PARTS;
    u = room(all * sizeof *u), f = room(all * sizeof *f);
    double *buf = room(face * sizeof *buf), *buf2 = room(face * sizeof *buf2);
    for (int x = 0; x < mx; x++)
        for (int y = 0; y < my; y++)
            for (int z = 0; z < n; z++)
                for (int c = 0; c < PARTS; c++)
                    at(f, x, y, z)[c] = ((ix * mx + x) * 31 + (iy * my + y) * 17 + z * 7 + c) % 11 - 5;
    double since = MPI_Wtime(), before = left_over(), left = before;
    for (int it = 0; it < iterations; it++) {
        begin_round();
        sweep(1, buf);
        faces(buf, buf2);
        sweep(-1, buf);
        faces(buf, buf2);
        left = left_over();
        right = right && (left < before || left < 1e-9);
        before = left;
    }
    return finish("lu", n, iterations, left, right, since);
}
