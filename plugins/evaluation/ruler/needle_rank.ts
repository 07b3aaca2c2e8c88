import { needleRank } from "./_ruler.ts";

export default needleRank();
