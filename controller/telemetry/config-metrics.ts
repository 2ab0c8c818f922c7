import { Gauge, type Registry } from 'prom-client'
import type { ConfigMetrics } from '../config/watch.ts'

export function addConfigMetrics(registry: Registry): ConfigMetrics {
  const registers = [registry]
  const valid = new Gauge({
    name: 'rollcall_config_valid',
    help: '1 while the configuration in force is what its files hold, 0 while those are refused',
    registers,
  })
  const loaded = new Gauge({
    name: 'rollcall_config_last_load_timestamp_seconds',
    help: 'When the configuration was read and found valid for the last time',
    registers,
  })
  return {
    configTaken(at) {
      valid.set(1)
      loaded.set(at)
    },
    configRefused: () => valid.set(0),
  }
}
