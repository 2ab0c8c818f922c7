/** What the test is given, made where there is a network. */
export interface Parts {
  /** Empty, and in memory; its name is that of the cgroup for all machines. */
  readonly folder: string
  /** Of the images, as `ctr images import` takes them. */
  readonly archives: readonly string[]
  /** The container runtime. */
  readonly runc: string
}
