import { Counter, Gauge, type Registry } from 'prom-client'

/**
 * The process under its conventional metric names, read when somebody asks. prom-client's own set keeps a timer for the
 * event loop's lag and an observer of the garbage collector: 4 ms of CPU each second at rest, 4 MB of memory.
 */
export function addProcessMetrics(registry: Registry): void {
  const registers = [registry]
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of this process, user and system',
    registers,
    collect() {
      const { user, system } = process.cpuUsage()
      this.reset()
      this.inc((user + system) / 1e6)
    },
  })
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of this process',
    registers,
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start of this process, seconds since the epoch',
    registers,
  }).set(performance.timeOrigin / 1000)
  new Gauge({
    name: 'nodejs_heap_size_used_bytes',
    help: 'JavaScript heap in use',
    registers,
    collect() {
      this.set(process.memoryUsage().heapUsed)
    },
  })
}
