! The same in the words of older programs: module mpi, an error code at the end of every call.
program classic
  use mpi
  implicit none
  integer, parameter :: n = 300
  integer :: rank, ranks, to, from, i, e, status(MPI_STATUS_SIZE)
  double precision :: out(n), in(n), total, part
  call MPI_Init(e)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, e)
  to = mod(rank + 1, ranks)
  from = mod(rank + ranks - 1, ranks)
  out = rank
  do i = 1, 10
    call MPI_Sendrecv(out, n, MPI_DOUBLE_PRECISION, to, 1, in, n, MPI_DOUBLE_PRECISION, from, 1, &
                      MPI_COMM_WORLD, status, e)
    part = in(1)
    call MPI_Allreduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, e)
    call MPI_Bcast(total, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, e)
  end do
  print '(a,i0,a,i0,a,i0)', 'sent ', rank, ' ', to, ' ', 10 * n * 8
  call MPI_Finalize(e)
end program
