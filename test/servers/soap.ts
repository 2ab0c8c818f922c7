import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import type { Vcsim } from './vcsim.ts'

export interface SoapAnswer {
  status: number
  type: string
  text: string
}

/** Just enough of a SOAP client to look at the simulator from outside; it understands no answer. */
export interface PlainSoapClient extends AsyncDisposable {
  /** Sends one operation, `inner` after `_this` in its element. */
  call(operation: string, self: { type: string; ref: string }, inner?: string): Promise<SoapAnswer>
  login(): Promise<void>
}

/** Opens a client with a cookie jar of one cookie. */
export async function openSoap(vcsim: Vcsim): Promise<PlainSoapClient> {
  const agent = new Agent({ connect: { ca: await readFile(vcsim.certificateFile, 'utf8') } })
  let cookie = ''
  const call = async (
    operation: string,
    self: { type: string; ref: string },
    inner = '',
  ): Promise<SoapAnswer> => {
    const response = await agent.request({
      origin: vcsim.url,
      path: '/sdk',
      method: 'POST',
      headers: { 'content-type': 'text/xml; charset=utf-8', soapaction: 'urn:vim25/8.0.0.0', cookie },
      body:
        '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
        `<e:Body><${operation} xmlns="urn:vim25"><_this type="${self.type}">${self.ref}</_this>${inner}</${operation}></e:Body></e:Envelope>`,
    })
    const set = response.headers['set-cookie']
    if (set) cookie = String(set).split(';')[0] ?? ''
    const text = await response.body.text()
    return { status: response.statusCode, type: String(response.headers['content-type']), text }
  }
  return {
    call,
    async login() {
      const user = `<userName>${vcsim.username}</userName><password>${vcsim.password}</password>`
      const { status, text } = await call('Login', { type: 'SessionManager', ref: 'SessionManager' }, user)
      if (status !== 200) throw new Error(`login: ${text}`)
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  }
}
