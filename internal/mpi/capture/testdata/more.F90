! What programs of Fortran seldom do, in older words or (MODERN) those of mpi_f08, and what was sent to whom.
#ifdef MODERN
#define HANDLE(what) type(MPI_/**/what)
#else
#define HANDLE(what) integer
#endif
program more
#ifdef MODERN
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer, parameter :: n = 300, rounds = 8
  integer :: rank, ranks, to, from, i, e, which, many, list(4), left
  integer :: sent, fetched, counts(4), places(4)
  double precision :: out(n), in(n), room(4 * n), total(1), part(4), window(n)
  character :: buffer(100000)
  logical :: flag
  integer(kind=MPI_ADDRESS_KIND) :: size, at
  HANDLE(Request) :: q(4), ready, buffered, arrives
  HANDLE(Comm) :: pair
  HANDLE(Datatype) :: types(4)
  HANDLE(Win) :: win
  HANDLE(Message) :: found, other
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, e)
  to = mod(rank + 1, ranks)
  from = mod(rank + ranks - 1, ranks)
  out = rank
  window = rank
  counts = 2
  places = (/ 0, 16, 32, 48 /)
  types = MPI_DOUBLE_PRECISION
  size = 8 * n
  at = 0
  call MPI_Buffer_attach(buffer, 100000, e)
  call MPI_Win_create(window, size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, e)
  call MPI_Bsend_init(out, 10, MPI_DOUBLE_PRECISION, to, 1, MPI_COMM_WORLD, buffered, e)
  call MPI_Rsend_init(out, 20, MPI_DOUBLE_PRECISION, to, 2, MPI_COMM_WORLD, ready, e)
  sent = 0
  fetched = 0
  do i = 1, rounds
    ! Requests that are begun again and again; one is received as it is found.
    call MPI_Irecv(in, n, MPI_DOUBLE_PRECISION, from, 2, MPI_COMM_WORLD, arrives, e)
    call MPI_Barrier(MPI_COMM_WORLD, e)
    call MPI_Start(buffered, e)
    call MPI_Start(ready, e)
    call MPI_Wait(arrives, MPI_STATUS_IGNORE, e)
    call MPI_Mprobe(from, 1, MPI_COMM_WORLD, found, MPI_STATUS_IGNORE, e)
    call MPI_Mrecv(room, n, MPI_DOUBLE_PRECISION, found, MPI_STATUS_IGNORE, e)
    call MPI_Wait(buffered, MPI_STATUS_IGNORE, e)
    call MPI_Wait(ready, MPI_STATUS_IGNORE, e)
    sent = sent + 30 * 8
    ! Requests that are asked for.
    call MPI_Irecv(in, n, MPI_DOUBLE_PRECISION, from, 3, MPI_COMM_WORLD, q(1), e)
    call MPI_Irecv(room, n, MPI_DOUBLE_PRECISION, from, 4, MPI_COMM_WORLD, q(2), e)
    call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, to, 3, MPI_COMM_WORLD, q(3), e)
    call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, to, 4, MPI_COMM_WORLD, q(4), e)
    sent = sent + 2 * n * 8
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(4, q, which, flag, MPI_STATUS_IGNORE, e)
    end do
    left = 3
    do while (left > 0)
      call MPI_Testsome(4, q, many, list, MPI_STATUSES_IGNORE, e)
      left = left - many
    end do
    ! Operations, begun and not.
    call MPI_Iallreduce(out, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, q(1), e)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(q(1), flag, MPI_STATUS_IGNORE, e)
    end do
    call MPI_Exscan(out, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
    call MPI_Reduce_scatter_block(out, part, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
    call MPI_Alltoallw(out, counts, places, types, room, counts, places, types, MPI_COMM_WORLD, e)
    ! A communicator that comes and goes, with other members each time.
    if (mod(i, 2) == 0) then
      call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, pair, e)
    else
      call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, pair, e)
    end if
    call MPI_Bcast(total, 1, MPI_DOUBLE_PRECISION, 0, pair, e)
    ! In it a message that is asked for until it is there.
    call MPI_Comm_rank(pair, which, e)
    call MPI_Isend(out, 1, MPI_DOUBLE_PRECISION, 1 - which, 5, pair, q(1), e)
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(1 - which, 5, pair, flag, other, MPI_STATUS_IGNORE, e)
    end do
    call MPI_Imrecv(in, 1, MPI_DOUBLE_PRECISION, other, q(2), e)
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, e)
    if (mod(i, 2) == 0) then
      print '(a,i0,a,i0,a,i0)', 'sent ', rank, ' ', ieor(rank, 1), ' ', 8
    else
      print '(a,i0,a,i0,a,i0)', 'sent ', rank, ' ', ieor(rank, 2), ' ', 8
    end if
    call MPI_Comm_free(pair, e)
    ! The memory of others.
    call MPI_Win_fence(0, win, e)
    call MPI_Get(in, 40, MPI_DOUBLE_PRECISION, to, at, 40, MPI_DOUBLE_PRECISION, win, e)
    call MPI_Win_fence(0, win, e)
    call MPI_Put(out, 50, MPI_DOUBLE_PRECISION, to, at, 50, MPI_DOUBLE_PRECISION, win, e)
    call MPI_Win_fence(0, win, e)
    fetched = fetched + 40 * 8
    sent = sent + 50 * 8
  end do
  print '(a,i0,a,i0,a,i0)', 'sent ', rank, ' ', to, ' ', sent
  print '(a,i0,a,i0,a,i0)', 'sent ', to, ' ', rank, ' ', fetched
  call MPI_Request_free(buffered, e)
  call MPI_Request_free(ready, e)
  call MPI_Win_free(win, e)
  call MPI_Finalize(e)
end program
