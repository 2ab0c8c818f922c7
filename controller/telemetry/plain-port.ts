import { createTelemetryServer, type TelemetryServer, type TelemetryServerOptions } from './server.ts'

/** Where a kubelet asks that knows no address of its Node. */
const LOOPBACK = '127.0.0.1'
/** With these that one is there already. */
const HAVE_LOOPBACK: readonly string[] = ['', '0.0.0.0', '::', 'localhost', LOOPBACK]

/**
 * Opens the plain port, and the same one on loopback where it has another address alone. A Pod of the host's network has no
 * address before its Node has, and its probes go to loopback meanwhile: unanswered, they would end the controller before it has
 * initialized the Node that it runs on.
 *
 * @throws when the address cannot be bound; that loopback's cannot is logged
 */
export async function openPlainPort(
  options: Omit<TelemetryServerOptions, 'secure'>,
): Promise<Pick<TelemetryServer, 'close'>> {
  const server = createTelemetryServer(options)
  const { port } = await server.listen()
  if (HAVE_LOOPBACK.includes(options.host)) return server
  const local = createTelemetryServer({ ...options, host: LOOPBACK, port })
  try {
    await local.listen()
  } catch (error) {
    options.logger.warn(
      { err: error },
      'cannot listen on the loopback address: probes fail until the Node has an address',
    )
  }
  return {
    async close() {
      await Promise.all([server.close(), local.close()])
    },
  }
}
