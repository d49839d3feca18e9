// The least that a relay can be on Node's `ws`: the first frame names a pair,
// and whatever either of the two sends then goes to the other.

const { createServer } = require("node:http");
const { WebSocketServer } = require("ws");

const [host, port] = process.argv.slice(2);
const waiting = new Map();

const server = createServer((_, answer) => answer.end());
const sockets = new WebSocketServer({ server, perMessageDeflate: false });

sockets.on("connection", (socket) => {
  // Whoever goes away in the middle is ordinary.
  socket.on("error", () => {});
  socket.once("message", (name) => {
    const pair = name.toString();
    socket.send("welcome");
    const other = waiting.get(pair);
    if (other === undefined) {
      waiting.set(pair, socket);
      return;
    }
    waiting.delete(pair);
    forward(socket, other);
    forward(other, socket);
  });
});

function forward(from, to) {
  from.on("message", (data, binary) => to.send(data, { binary }));
}

server.listen(Number(port), host);
