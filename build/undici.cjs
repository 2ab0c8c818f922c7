'use strict'

// What the controller and client-node use of undici, without what its entry loads besides: caches, mocks, fetch, WebSocket.
// That costs 10 MB of resident memory in a process that never calls it.
const Dispatcher = require('undici/lib/dispatcher/dispatcher.js')
const { request } = require('undici/lib/api/index.js')

// As the entry does: all dispatchers have their methods from here.
Dispatcher.prototype.request = request

exports.Agent = require('undici/lib/dispatcher/agent.js')
exports.Client = require('undici/lib/dispatcher/client.js')
exports.Pool = require('undici/lib/dispatcher/pool.js')
exports.ProxyAgent = require('undici/lib/dispatcher/proxy-agent.js')
