! A ring, a broadcast and a sum as a program of modern Fortran sends them, and what was sent to whom.
program modern
  use mpi_f08
  implicit none
  integer, parameter :: n = 300
  integer :: rank, ranks, to, from, i
  double precision :: out(n), in(n), total(1)
  type(MPI_Request) :: q(2)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  to = mod(rank + 1, ranks)
  from = mod(rank + ranks - 1, ranks)
  out = rank
  do i = 1, 10
    call MPI_Irecv(in, n, MPI_DOUBLE_PRECISION, from, 1, MPI_COMM_WORLD, q(1))
    call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, to, 1, MPI_COMM_WORLD, q(2))
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE)
    total(1) = in(1)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Bcast(total, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  end do
  print '(a,i0,a,i0,a,i0)', 'sent ', rank, ' ', to, ' ', 10 * n * 8
  call MPI_Finalize()
end program
