/** The version of both programs and of all that is built with them; a test holds it to package.json's. */
export const VERSION = '0.1.0'
