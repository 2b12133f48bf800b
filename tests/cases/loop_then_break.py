def ratio(total, edges, sizes):
    while any(edges):
        flexible = [edge for edge in edges if edge]
        if not flexible:
            return list(sizes)
        for edge in flexible:
            if edge.ratio <= total:
                sizes[edge] = total
                break
        else:
            remainder = 0
            for index, edge in flexible:
                size, remainder = divmod(edge.ratio, 1)
                sizes[index] = size
            break
    return sizes
