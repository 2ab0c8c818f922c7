import t from 'tap'
import { timeOfDay } from './time-of-day.ts'

t.equal(timeOfDay(Date.parse('2026-01-01T14:05:00Z')), '14:05 UTC')
t.equal(timeOfDay(Date.parse('2026-01-01T14:05:00.001Z')), '14:06 UTC', 'when it has happened, not before')
t.equal(timeOfDay(Date.parse('2026-01-01T23:59:30Z')), '00:00 UTC')
