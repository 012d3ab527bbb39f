! SPDX-License-Identifier: BSD-3-Clause
! pvm_fortran: a task and its child in Fortran, which call PVM by
! libfpvm3: numbers and texts, packed and sent as they are, go to the
! child and come back twice as large.
      program main
      implicit none
      include 'fpvm3.h'
      integer task, parent, child, started, status
      character*4096 own

      call pvmfmytid(task)
      call check(task .gt. 0, 'a task')
      call pvmfparent(parent)
      if (parent .gt. 0) then
        call echo(parent)
      else
        call get_command_argument(0, own)
        call pvmfspawn(trim(own), PVMDEFAULT, '*', 1, child, started)
        call check(started .eq. 1, 'a child')
        call ask(child)
      end if
      call pvmfexit(status)
      end

      subroutine check(holds, what)
      implicit none
      logical holds
      character*(*) what
      integer status

      if (.not. holds) then
        print '(a, a)', 'fortran: not so: ', what
        call pvmfexit(status)
        stop 1
      end if
      end

      subroutine echo(parent)
      implicit none
      include 'fpvm3.h'
      integer parent, buffer, status, n, i
      double precision x(5000)
      character*11 text

      call pvmfrecv(parent, 5, buffer)
      call pvmfunpack(INTEGER4, n, 1, 1, status)
      call pvmfunpack(REAL8, x, n, 1, status)
      call pvmfunpack(STRING, text, 11, 1, status)
      do i = 1, n
        x(i) = x(i) * 2
      end do
      call pvmfinitsend(PVMRAW, buffer)
      call pvmfpack(REAL8, x, n, 1, status)
      call pvmfpack(STRING, text, 11, 1, status)
      call pvmfsend(parent, 5, status)
      call pvmfpsend(parent, 5, x, n, REAL8, status)
      end

      subroutine ask(child)
      implicit none
      include 'fpvm3.h'
      integer child, buffer, status, n, i, from, tag, bytes
      double precision x(5000), y(5000)
      character*11 text

      n = 5000
      do i = 1, n
        x(i) = i / 8.0d0
      end do
      call pvmfinitsend(PVMDEFAULT, buffer)
      call pvmfpack(INTEGER4, n, 1, 1, status)
      call pvmfpack(REAL8, x, n, 1, status)
      call pvmfpack(STRING, 'some text..', 11, 1, status)
      call pvmfsend(child, 5, status)
      call check(status .eq. 0, 'sent')
      call pvmfrecv(child, 5, buffer)
      call pvmfbufinfo(buffer, bytes, tag, from, status)
      call check(from .eq. child .and. tag .eq. 5, 'from the child')
      call pvmfunpack(REAL8, y, n, 1, status)
      call pvmfunpack(STRING, text, 11, 1, status)
      call check(all(y .eq. 2 * x), 'twice as large')
      y = 0
      call pvmfprecv(child, 5, y, n, REAL8, from, tag, bytes, status)
      call check(status .eq. 0 .and. from .eq. child, 'received')
      call check(all(y .eq. 2 * x), 'and once more')
      print '(a, i0, a, a)', 'fortran: ', bytes,
     &  ' bytes there and back, and ', text
      end
