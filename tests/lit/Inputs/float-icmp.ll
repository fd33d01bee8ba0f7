define void @k(float %x) {
entry:
  %a = icmp eq float %x, 0.0
  ret void
}
